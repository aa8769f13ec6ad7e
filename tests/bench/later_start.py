"""Wall time of a later start of an installation, and of an empty server on the same libraries."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from tests.bench import environment
from tests.bench.figures import Figure
from tests.bench.memory import BARE_SERVER
from tests.installation.manage_process import Installation, clean_environment

ROUNDS = 5
AT_MOST_SECONDS = 5


def until_it_answers(folder: Path) -> Figure:
    """The first start creates everything and does not count."""
    installation = Installation(folder)
    try:
        installation.up().stop()
        ours = median(_started(installation) for _ in range(ROUNDS))
    finally:
        installation.end()
    return Figure(
        "start",
        ours,
        median(_bare_server() for _ in range(ROUNDS)),
        "s",
        "median of a later start: `manage.py up` (web server and worker) on "
        f"{environment.database()} until it answers / Django and uvicorn imported, nothing else",
        at_most=AT_MOST_SECONDS,
    )


def _started(installation: Installation) -> float:
    running = installation.up()
    running.stop()
    return running.seconds


def _bare_server() -> float:
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-c", BARE_SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return time.monotonic() - began
