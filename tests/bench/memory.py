"""Memory of an idle Paca, and of an empty server on the same libraries."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.bench import environment
from tests.bench.figures import Figure
from tests.installation.manage_process import Installation, clean_environment

IDLE_SECONDS = 10
BARE_SERVER = """
import django, sys, uvicorn
from django.conf import settings
settings.configure(INSTALLED_APPS=['django.contrib.auth', 'django.contrib.contenttypes'])
django.setup()
from django.core.asgi import get_asgi_application
get_asgi_application()
print('ready', flush=True)
sys.stdin.read()
"""


def idle(folder: Path) -> Figure:
    """Measured ten seconds after the server began to answer."""
    installation = Installation(folder)
    try:
        running = installation.up(DATABASE_URL=environment.another_database("memory"))
        time.sleep(IDLE_SECONDS)
        ours = resident_mb(running.process.pid)
    finally:
        installation.end()
    return Figure(
        "memory",
        ours,
        _bare_django(),
        "MB",
        f"resident, all processes, after {IDLE_SECONDS} s: `manage.py up` (web server and worker) "
        f"on {environment.database()} / Django and uvicorn imported, nothing else",
        at_most=150,
    )


def resident_mb(pid: int) -> float:
    """Resident memory of a process and its descendants; shared pages count for each of them."""
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    return sum(member.memory_info().rss for member in family) / 1e6


def _bare_django() -> float:
    with subprocess.Popen(
        [sys.executable, "-c", BARE_SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return resident_mb(process.pid)
