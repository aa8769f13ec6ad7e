"""Keeps commands from acting on the runner, and from what it could not count: with a filter of system calls."""

from __future__ import annotations

from paca.sandbox.runner import bpf
from paca.sandbox.runner.bpf import (
    ALLOW,
    ENOSYS,
    EOPNOTSUPP,
    EPERM,
    ERROR,
    JUMP_EQUAL,
    JUMP_SET,
    LOAD,
    RETURN,
    line,
    on_call,
)

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
    "pidfd_open": (434, 434),
    "sched_setaffinity": SCHED_SETAFFINITY,
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
}
# A descriptor of a process, or of its folder in /proc, says to no filter which process it is. Programs know the answer:
# older kernels give it.
PIDFD_SEND_SIGNAL = (424, 424)
# They put text into the input of a terminal, which somebody else may read from it.
TYPING_IOCTLS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
# Calls that take space without writing, so that no counter shows it. Programs know the answer: many file
# systems cannot do this either. What gives space back is allowed.
FALLOCATE, IOCTL = (285, 47), (16, 29)
GIVING_BACK = 0x02 | 0x08  # FALLOC_FL_PUNCH_HOLE and FALLOC_FL_COLLAPSE_RANGE
TAKING_IOCTLS = (
    *(0x4030580A, 0x40305824),  # XFS_IOC_ALLOCSP, XFS_IOC_ALLOCSP64
    *(0x40305828, 0x4030582A, 0x40305839),  # FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE
    0x401C5820,  # FS_IOC_FSSETXATTR: it can make each write take much more than is written
)
SETTING_ATTRIBUTES = {
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
}


def protect_runner(*, pinned: bool, counted: bool) -> None:
    """Refuse system calls on process 1, and those that hide a process from the runner, from now on.

    ``pinned``: the sandbox is limited to some cores by its affinity alone, so no command may change it.
    ``counted``: the runner counts what is stored in the workspace, so nothing may be stored uncounted.
    Raises ``OSError``.
    """
    found = bpf.machine()
    if found is not None:
        bpf.apply(program(*found, pinned=pinned, counted=counted))


def program(column: int, architecture: int, *, pinned: bool, counted: bool) -> bytes:
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
    # guard: sandbox-signals-by-descriptor
    lines += on_call(PIDFD_SEND_SIGNAL[column], [line(RETURN, ENOSYS)])
    if counted:
        lines += _refuse_uncounted_space(column)
    lines += _refuse_ioctls(column, counted=counted)
    lines.append(line(RETURN, ALLOW))
    return b"".join(lines)


def _refuse_ioctls(column: int, *, counted: bool) -> list[bytes]:
    refused = {value: line(RETURN, EPERM) for value in TYPING_IOCTLS}
    if counted:
        refused |= {value: line(RETURN, EOPNOTSUPP) for value in TAKING_IOCTLS}
    requests = [
        part
        for value, answer in refused.items()
        for part in (line(JUMP_EQUAL, value, 0, 1), answer)
    ]
    return on_call(IOCTL[column], [line(LOAD, bpf.ARGUMENTS[1]), *requests, line(RETURN, ALLOW)])


def _refuse_uncounted_space(column: int) -> list[bytes]:
    refuse = line(RETURN, EOPNOTSUPP)
    given_back = [
        line(LOAD, bpf.ARGUMENTS[1]),
        line(JUMP_SET, GIVING_BACK, 0, 1),
        line(RETURN, ALLOW),
    ]
    lines = on_call(FALLOCATE[column], [*given_back, refuse])
    for numbers in SETTING_ATTRIBUTES.values():
        lines += on_call(numbers[column], [refuse])
    return lines


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
