"""``make chaos``: each part on each set-up, with a seed; exit code 1 if a promise was broken.

``PART=R1`` runs one part, ``ON=sqlite`` or ``services`` one set-up, ``SEED=7`` the same random choices,
``SHORT=1`` a form of two minutes, ``SANDBOX=bubblewrap`` the services without Docker.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

from tests.chaos.testbed import TESTBEDS

UNTIMED = (
    *("R1", "R2", "R4", "R7", "TOOLS", "ANSWERS", "SUMMARY", "APPROVE", "FALLBACK", "BUDGET"),
    *("BACKGROUND", "MCP", "HELPERS", "REPOSITORY", "SETUP"),
)
LONG = ("TEAM",)  # the short form leaves it out
# These measure times: nothing runs beside them.
TIMED = ("R3", "R5", "STOP", "RACE")
SOAK = "SOAK"  # takes ten minutes: runs only if PART names it


def main() -> int:
    seed = os.environ.get("SEED") or str(random.randrange(10**6))
    testbeds = os.environ.get("ON") or " ".join(TESTBEDS)
    short = bool(os.environ.get("SHORT"))
    parts = os.environ.get("PART") or " ".join(UNTIMED if short else UNTIMED + LONG + TIMED)
    known = {*UNTIMED, *LONG, *TIMED, SOAK}
    if unknown := {*testbeds.split()} - {*TESTBEDS} | {*parts.split()} - known:
        print(f"there is no {', '.join(unknown)}: PART is of {sorted(known)}, ON of {TESTBEDS}")
        return 2
    print(f"SEED={seed}  ON='{testbeds}'  PART='{parts}'", flush=True)
    began = time.monotonic()
    chosen = parts.split()
    codes = _run(
        testbeds.split(), seed, [part for part in chosen if part in UNTIMED + LONG], at_once=True
    )
    timed = [part for part in chosen if part not in UNTIMED + LONG]
    codes += _run(testbeds.split(), seed, timed, at_once=False)
    worst = max(map(abs, codes))  # -9: it was killed
    given = "SHORT=1 " if short else ""
    verdict = "every promise held" if worst == 0 else "FAILED; run it again with the same seed: "
    again = "" if worst == 0 else f"{given}SEED={seed} ON='{testbeds}' PART='{parts}' make chaos"
    print(f"{verdict}{again} ({time.monotonic() - began:.0f} s)")
    return worst


def _run(testbeds: list[str], seed: str, parts: list[str], *, at_once: bool) -> list[int]:
    """Run the parts, one process for each set-up since Django has one database; gives exit codes."""
    ended, running = [], []
    for testbed in testbeds if parts else ():
        command = [sys.executable, "-m", "tests.chaos.run_parts", testbed, seed, *parts]
        running.append(subprocess.Popen(command))
        if not at_once:
            ended.append(running.pop().wait())
    return ended + [process.wait() for process in running]


if __name__ == "__main__":
    sys.exit(main())
