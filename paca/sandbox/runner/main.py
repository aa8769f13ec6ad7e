"""Starts the runner: gives up every right, bounds itself, then serves."""

from __future__ import annotations

import _socket
import os
import sys

from paca.sandbox.runner import HOME
from paca.sandbox.runner.frames import loads
from paca.sandbox.runner.server import Server
from paca.sandbox.runner.signals import SIG_IGN, SIGHUP, SIGINT, SIGPIPE, SIGTERM, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def main() -> None:
    """``argv[1]`` is the backend's description of this sandbox, as JSON."""
    settings: dict[str, Any] = loads(sys.argv[1])
    for number in (SIGTERM, SIGINT, SIGHUP, SIGPIPE):
        signal(number, SIG_IGN)
    os.environ.clear()
    os.umask(0o022)
    listener: int = settings["listener"]
    os.set_inheritable(listener, False)
    settings["null"] = os.open("/dev/null", os.O_RDWR)
    settings["oom_kills"] = _oom_counter(settings.get("oom_fd"))
    settings["cgroup"] = settings.get("oom_fd") is not None
    if not settings["cgroup"]:
        _bind_to_cores(settings["cpus"])
    _become(settings.get("uid"))
    socket = _socket.socket(fileno=listener)
    Server(
        listener=listener,
        accept=lambda: socket._accept()[0],  # type: ignore[attr-defined]
        epoch=settings["epoch"],
        orphan_seconds=settings["orphan_seconds"],
        settings=settings,
    ).serve()


def _become(uid: int | None) -> None:
    """From root to the user of this sandbox alone; without a uid we are nobody special already."""
    if uid is None:
        return
    os.chown(HOME, uid, uid)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _bind_to_cores(cpus: float) -> None:
    """A share of the machine without a cgroup: whole cores, beginning anywhere."""
    cores = sorted(os.sched_getaffinity(0))
    first = os.urandom(1)[0] % len(cores)
    wanted = max(1, min(len(cores), int(cpus + 0.999)))
    os.sched_setaffinity(0, (cores[first:] + cores[:first])[:wanted])


def _oom_counter(fd: int | None) -> Callable[[], int]:
    """How often the kernel has ended a process here for lack of memory."""
    if fd is None:
        return lambda: 0
    os.set_inheritable(fd, False)

    def count() -> int:
        for line in os.pread(fd, 4096, 0).splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
        return 0

    return count
