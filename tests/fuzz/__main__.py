"""``make fuzz``: random requests to the API on each set-up; exit code 1 if an answer was wrong.

``REQUESTS=500`` sends fewer, ``SEED=7`` makes the same random choices again, ``ON=sqlite`` or ``services``
is one set-up, ``ONLY="POST /api/v1/tokens/"`` one operation, ``SECONDS=600`` the longest time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tests.chaos.testbed import TESTBEDS

DEFAULTS = {"REQUESTS": "10000", "SEED": "1", "ON": " ".join(TESTBEDS), "SECONDS": "3600"}


def main() -> int:
    chosen = {name: os.environ.get(name) or value for name, value in DEFAULTS.items()}
    testbeds, requests = chosen["ON"].split(), int(chosen["REQUESTS"])
    if unknown := {*testbeds} - {*TESTBEDS}:
        print(f"there is no {', '.join(unknown)}: ON is of {TESTBEDS}")
        return 2
    print("  ".join(f"{name}='{value}'" for name, value in chosen.items()), flush=True)
    began = time.monotonic()
    share = str(-(-requests // len(testbeds)))
    # One process for each set-up, since Django has one database.
    running = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.fuzz.run",
                testbed,
                chosen["SEED"],
                share,
                chosen["SECONDS"],
            ]
        )
        for testbed in testbeds
    ]
    worst = max(abs(process.wait()) for process in running)  # -9: it was killed
    verdict = "every answer is as documented" if worst == 0 else "FAILED"
    print(f"{verdict} ({time.monotonic() - began:.0f} s)")
    return worst


if __name__ == "__main__":
    sys.exit(main())
