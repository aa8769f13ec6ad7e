"""Starts the runner: gives up every right, bounds itself, then serves."""

from __future__ import annotations

import _socket
import os
import sys

from paca.sandbox.runner import HOME
from paca.sandbox.runner.channel import Channel
from paca.sandbox.runner.frames import loads
from paca.sandbox.runner.server import RunnerServer
from paca.sandbox.runner.signals import SIG_IGN, SIGHUP, SIGINT, SIGPIPE, SIGTERM, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Of a container's own control group: version 2, then version 1.
OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def main() -> None:
    """``argv[1]`` is the backend's description of this sandbox, as JSON."""
    settings: dict[str, Any] = loads(sys.argv[1])
    for number in (SIGTERM, SIGINT, SIGHUP, SIGPIPE):
        signal(number, SIG_IGN)
    os.environ.clear()
    os.umask(0o022)
    settings["null"] = os.open("/dev/null", os.O_RDWR)
    if settings.get("listener") is None:
        _serve(settings, shared=_standard_streams(settings["null"]))
        return
    listener: int = settings["listener"]
    os.set_inheritable(listener, False)
    if settings["oom_fd"] is None:
        _pin_to_cores(settings["cpus"])
    _drop_root(settings.get("uid"))
    socket = _socket.socket(fileno=listener)
    _serve(settings, listener=listener, accept=lambda: socket._accept()[0])  # type: ignore[attr-defined]


def _serve(settings: dict[str, Any], **connection: Any) -> None:
    counter = _open_oom_counter(settings.get("oom_fd"))
    settings["cgroup"] = counter is not None
    settings["oom_kills"] = _oom_kill_reader(counter)
    epoch, orphan_seconds = settings["epoch"], settings["orphan_seconds"]
    RunnerServer(
        epoch=epoch, orphan_seconds=orphan_seconds, settings=settings, **connection
    ).serve()


def _standard_streams(null: int) -> Channel:
    """A container's: kept for us alone, and out of the way of what is printed by mistake."""
    channel = Channel(os.dup(0), os.dup(1))
    os.dup2(null, 0)
    os.dup2(2, 1)
    return channel


def _drop_root(uid: int | None) -> None:
    """From root to the user of this sandbox alone; without a uid we are nobody special already."""
    if uid is None:
        return
    os.chown(HOME, uid, uid)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _pin_to_cores(cpus: float) -> None:
    """A share of the machine without a cgroup: whole cores, beginning anywhere."""
    cores = sorted(os.sched_getaffinity(0))
    first = os.urandom(1)[0] % len(cores)
    wanted = max(1, min(len(cores), int(cpus + 0.999)))
    os.sched_setaffinity(0, (cores[first:] + cores[:first])[:wanted])


def _open_oom_counter(fd: int | None) -> int | None:
    """Where the kernel counts whom it ended for lack of memory: given to us, or shown to a container."""
    if fd is not None:
        os.set_inheritable(fd, False)
        return fd
    for path in OOM_COUNTERS:
        try:
            return os.open(path, os.O_RDONLY)
        except OSError:
            continue
    return None


def _oom_kill_reader(fd: int | None) -> Callable[[], int]:
    """How often the kernel has ended a process here for lack of memory."""
    if fd is None:
        return lambda: 0

    def count() -> int:
        for line in os.pread(fd, 4096, 0).splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
        return 0

    return count
