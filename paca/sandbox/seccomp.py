"""The system calls that a sandbox may use, and the filter for bubblewrap that refuses all others.

A list of what is allowed: a system call that a new kernel brings is refused until somebody adds it.
"""

from functools import cache
from pathlib import Path

from paca.sandbox.runner import bpf
from paca.sandbox.runner.bpf import (
    ALLOW,
    ENOSYS,
    EPERM,
    JUMP_AT_LEAST,
    JUMP_EQUAL,
    JUMP_SET,
    LOAD,
    RETURN,
    decide,
    line,
    on_call,
)

ALLOWED = Path(__file__).parent / "syscalls.txt"
NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET
SOCKET_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
# Values that do not change the memory layout, and the one that only asks.
PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
# Their arguments decide: (x86_64, aarch64).
CLONE, CLONE3, SOCKET, PERSONALITY = (56, 220), (435, 435), (41, 198), (135, 92)


@cache
def allowed_calls() -> dict[str, tuple[int | None, int | None]]:
    """The calls that are allowed with any arguments, each with its numbers on x86_64 and aarch64."""
    rows = [text.split() for text in ALLOWED.read_text().splitlines() if not text.startswith("#")]
    numbers = {
        name: [None if word == "-" else int(word) for word in words] for name, *words in rows
    }
    return {name: (x86_64, aarch64) for name, (x86_64, aarch64) in numbers.items()}


def program() -> bytes | None:
    """The filter in the kernel's format; None on a processor whose call numbers are not listed here."""
    found = bpf.machine()
    if found is None:
        return None
    column, architecture = found
    allowed = sorted(
        number for row in allowed_calls().values() if (number := row[column]) is not None
    )
    lines = [
        line(LOAD, bpf.ARCHITECTURE),
        line(JUMP_EQUAL, architecture, 1, 0),
        line(RETURN, EPERM),  # calls of 32-bit programs have other numbers, so all are refused
        line(LOAD, bpf.NUMBER),
        # The answer for calls that are newer than the list makes programs use older ones.
        line(JUMP_AT_LEAST, allowed[-1] + 1, 0, 1),
        line(RETURN, ENOSYS),
    ]
    for first, last in _ranges(allowed):
        lines += [
            line(JUMP_AT_LEAST, first, 0, 2),
            line(JUMP_AT_LEAST, last + 1, 1, 0),
            line(RETURN, ALLOW),
        ]
    # A filter cannot read its flags; libraries fall back to clone.
    lines += on_call(CLONE3[column], [line(RETURN, ENOSYS)])
    lines += on_call(CLONE[column], decide([NEW_NAMESPACES], EPERM, otherwise=ALLOW, test=JUMP_SET))
    for call, values in ((SOCKET, [*SOCKET_FAMILIES.values()]), (PERSONALITY, [*PERSONALITIES])):
        lines += on_call(call[column], decide(values, ALLOW, otherwise=EPERM))
    lines.append(line(RETURN, EPERM))
    return b"".join(lines)


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """The first and last number of each row of consecutive numbers."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
