"""Keeps commands from acting on the runner: they have its user, so only a filter of system calls can."""

from __future__ import annotations

from paca.sandbox.runner import bpf
from paca.sandbox.runner.bpf import ALLOW, EPERM, ERROR, JUMP_EQUAL, LOAD, RETURN, line, on_call

RUNNER_PID = 1
PR_SET_DUMPABLE = 4
IOPRIO_WHO_PROCESS = 1
# Numbers of calls on x86_64 and aarch64.
PRCTL, SETPRIORITY, IOPRIO_SET, SCHED_SETAFFINITY = (157, 167), (141, 140), (251, 30), (203, 122)
# Their first argument is the process that they act on.
ACTING_ON_A_PROCESS = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "prlimit64": (302, 261),
    "sched_setaffinity": SCHED_SETAFFINITY,
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
}


def protect_runner(*, pinned: bool) -> None:
    """Refuse system calls on process 1, and those that hide a process from the runner, from now on.

    ``pinned``: the sandbox is limited to some cores by its affinity alone, so no command may change it.
    Raises ``OSError``.
    """
    found = bpf.machine()
    if found is not None:
        bpf.apply(program(*found, pinned=pinned))


def program(column: int, architecture: int, *, pinned: bool) -> bytes:
    """The filter in the kernel's format."""
    lines = [
        line(LOAD, bpf.ARCHITECTURE),
        line(JUMP_EQUAL, architecture, 1, 0),
        line(RETURN, EPERM),
        line(LOAD, bpf.NUMBER),
    ]
    if pinned:
        lines += on_call(SCHED_SETAFFINITY[column], [line(RETURN, EPERM)])
    for numbers in ACTING_ON_A_PROCESS.values():
        lines += on_call(numbers[column], _refuse_if_runner(0))
    # A group or a user of processes may contain the runner, so only single processes are allowed.
    lines += on_call(SETPRIORITY[column], [*_require(0, 0), *_refuse_if_runner(1)])
    lines += on_call(IOPRIO_SET[column], [*_require(0, IOPRIO_WHO_PROCESS), *_refuse_if_runner(1)])
    # A process that is not dumpable hides its open files, and with them what it stores. Programs that
    # protect themselves so are told that it worked.
    pretend = [*_require(0, PR_SET_DUMPABLE, ALLOW), *_require(1, 0, ALLOW), line(RETURN, ERROR)]
    lines += on_call(PRCTL[column], pretend)
    lines.append(line(RETURN, ALLOW))
    return b"".join(lines)


def _refuse_if_runner(argument: int) -> list[bytes]:
    return [
        line(LOAD, bpf.ARGUMENTS[argument]),
        line(JUMP_EQUAL, RUNNER_PID, 0, 1),
        line(RETURN, EPERM),
        line(RETURN, ALLOW),
    ]


def _require(argument: int, value: int, otherwise: int = EPERM) -> list[bytes]:
    return [
        line(LOAD, bpf.ARGUMENTS[argument]),
        line(JUMP_EQUAL, value, 1, 0),
        line(RETURN, otherwise),
    ]
