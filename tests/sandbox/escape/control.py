"""A weak sandbox: attempts of ``attempts.py`` run in it as root, without any limit, and must succeed.

It has mounts of its own, so that they do not reach the machine, and nothing else.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.sandbox.escape import tools


def run(attempts: dict[str, str], host: dict, folder: Path) -> dict[str, str]:
    """What became of each attempt, by its name."""
    given = folder / "attempts.json"
    given.write_text(json.dumps(attempts))
    # The stand-in of the runner: a process that does nothing.
    runner = subprocess.Popen(["sleep", "600"])
    try:
        done = subprocess.run(
            [
                "unshare",
                "--mount",
                "--propagation",
                "private",
                sys.executable,
                tools.__file__,
                given,
            ],
            env={
                "PATH": os.environ["PATH"],
                "ESCAPE_HOST": json.dumps({**host, "runner": runner.pid}),
            },
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        runner.kill()
        runner.wait()
    return parse(done.stdout)


def parse(output: str) -> dict[str, str]:
    """The results in the output of ``tools.py``."""
    [line] = [line for line in output.splitlines() if line.startswith("RESULT ")]
    found: dict[str, str] = json.loads(line.removeprefix("RESULT "))
    return found
