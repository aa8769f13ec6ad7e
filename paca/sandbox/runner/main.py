"""Starts the runner: drops its privileges, limits itself, then serves workers."""

from __future__ import annotations

import _socket
import os
import sys

from paca.sandbox.runner import HOME, UNATTENDED_SECONDS_KEY
from paca.sandbox.runner.channel import Channel
from paca.sandbox.runner.frames import loads
from paca.sandbox.runner.oom_score import OomScore
from paca.sandbox.runner.server import RunnerServer
from paca.sandbox.runner.signals import SIG_IGN, SIGHUP, SIGINT, SIGPIPE, SIGTERM, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# The counter of a container's control group, in version 2 and in version 1.
PR_CAPBSET_READ, PR_CAPBSET_DROP, MAX_CAPABILITIES = 23, 24, 64
OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def main() -> None:
    """Run until the sandbox ends. ``argv[1]``: the settings of this sandbox from the backend, as JSON."""
    settings: dict[str, Any] = loads(sys.argv[1])
    for number in (SIGTERM, SIGINT, SIGHUP, SIGPIPE):
        signal(number, SIG_IGN)
    os.environ.clear()
    os.umask(0o022)
    settings["null"] = os.open("/dev/null", os.O_RDWR)
    settings["oom_score"] = OomScore()
    if settings.get("listener") is None:
        _serve(settings, shared=_standard_streams(settings["null"]))
        return
    listener: int = settings["listener"]
    os.set_inheritable(listener, False)
    if settings["disk_fd"] is not None:
        os.set_inheritable(settings["disk_fd"], False)
    if settings["oom_fd"] is None:
        _pin_to_cores(settings["cpus"])
    _drop_root(settings.get("uid"))
    socket = _socket.socket(fileno=listener)
    _serve(settings, listener=listener, accept=lambda: socket._accept()[0])  # type: ignore[attr-defined]


def _serve(settings: dict[str, Any], **connection: Any) -> None:
    counter = _open_oom_counter(settings.get("oom_fd"))
    settings["cgroup"] = counter is not None
    settings["oom_kills"] = _oom_kill_reader(counter)
    epoch, unattended_seconds = settings["epoch"], settings[UNATTENDED_SECONDS_KEY]
    server = RunnerServer(
        epoch=epoch, unattended_seconds=unattended_seconds, settings=settings, **connection
    )
    server.serve()
    raise SystemExit(server.exit_code)


def _standard_streams(null: int) -> Channel:
    """The channel over a container's standard streams, which are moved so that stray prints do not reach it."""
    channel = Channel(os.dup(0), os.dup(1))
    os.dup2(null, 0)
    os.dup2(2, 1)
    return channel


def _drop_root(uid: int | None) -> None:
    """Change from root to the user of this sandbox; without a uid the process is that user already."""
    if uid is None:
        return
    os.chown(HOME, uid, uid)
    os.setgroups([])
    _drop_bounding_set()
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _drop_bounding_set() -> None:
    """Give up every capability for good, also those that a program with file capabilities could get.

    Raises ``OSError`` if the kernel keeps one.
    """
    import _ctypes  # the module ``ctypes`` itself takes longer to load

    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    for capability in range(MAX_CAPABILITIES):
        kept = _ctypes.call_function(prctl, (PR_CAPBSET_READ, capability))
        if kept < 0:  # the kernel knows no higher one
            return
        if kept and _ctypes.call_function(prctl, (PR_CAPBSET_DROP, capability)) != 0:
            raise PermissionError(f"capability {capability} cannot be dropped")


def _pin_to_cores(cpus: float) -> None:
    """Limit the processor time without a control group: to whole cores, beginning with a random one."""
    cores = sorted(os.sched_getaffinity(0))
    first = os.urandom(1)[0] % len(cores)
    wanted = max(1, min(len(cores), int(cpus + 0.999)))
    os.sched_setaffinity(0, (cores[first:] + cores[:first])[:wanted])


def _open_oom_counter(fd: int | None) -> int | None:
    """A descriptor of the kernel's counter of out-of-memory kills: ``fd``, or the one a container can see."""
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
    """A function that gives how many processes here the kernel has ended for lack of memory."""
    if fd is None:
        return lambda: 0

    def count() -> int:
        for line in os.pread(fd, 4096, 0).splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
        return 0

    return count
