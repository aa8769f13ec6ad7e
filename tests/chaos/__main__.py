"""``make chaos``: each part on each ground, seeded; exit code 1 if a promise was broken.

``PART=R1`` one part, ``ON=sqlite`` or ``services`` one ground, ``SEED=7`` the same chances again,
``SHORT=1`` a form of two minutes, ``SANDBOX=bubblewrap`` the services without Docker.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

from tests.chaos.ground import GROUNDS

UNTIMED = ("R1", "R2", "R4", "R7")
# They measure how long something takes: nothing runs beside them.
TIMED = ("R3", "R5", "STOP", "RACE")
SOAK = "SOAK"  # ten minutes for itself: only when it is named


def main() -> int:
    seed = os.environ.get("SEED") or str(random.randrange(10**6))
    grounds = os.environ.get("ON") or " ".join(GROUNDS)
    short = bool(os.environ.get("SHORT"))
    parts = os.environ.get("PART") or " ".join(UNTIMED if short else UNTIMED + TIMED)
    known = {*UNTIMED, *TIMED, SOAK}
    if unknown := {*grounds.split()} - {*GROUNDS} | {*parts.split()} - known:
        print(f"there is no {', '.join(unknown)}: PART is of {sorted(known)}, ON of {GROUNDS}")
        return 2
    print(f"SEED={seed}  ON='{grounds}'  PART='{parts}'", flush=True)
    began = time.monotonic()
    chosen = parts.split()
    codes = _run(grounds.split(), seed, [part for part in chosen if part in UNTIMED], at_once=True)
    timed = [part for part in chosen if part not in UNTIMED]
    codes += _run(grounds.split(), seed, timed, at_once=False)
    worst = max(map(abs, codes))  # -9: it was killed
    given = "SHORT=1 " if short else ""
    verdict = "every promise held" if worst == 0 else "FAILED; once more with the same chances: "
    again = "" if worst == 0 else f"{given}SEED={seed} ON='{grounds}' PART='{parts}' make chaos"
    print(f"{verdict}{again} ({time.monotonic() - began:.0f} s)")
    return worst


def _run(grounds: list[str], seed: str, parts: list[str], *, at_once: bool) -> list[int]:
    """The exit code of each ground's process: Django is set up on one database."""
    ended, running = [], []
    for ground in grounds if parts else ():
        command = [sys.executable, "-m", "tests.chaos.on", ground, seed, *parts]
        running.append(subprocess.Popen(command))
        if not at_once:
            ended.append(running.pop().wait())
    return ended + [process.wait() for process in running]


if __name__ == "__main__":
    sys.exit(main())
