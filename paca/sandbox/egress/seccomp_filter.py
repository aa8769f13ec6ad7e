"""Keeps the gate process from all sockets in files but those that its opener hands over.

Landlock does not govern connections to sockets. So the gate may make no socket that could be connected to one, and
receive none: a sandbox can send a descriptor along with its bytes. Nor may the gate send one, such as that of a folder,
from which a sandbox could go on to all files of the machine.
"""

from __future__ import annotations

import asyncio
import os
import platform
import socket

from paca.sandbox import seccomp
from paca.sandbox.runner import bpf
from paca.sandbox.runner.bpf import ALLOW, EPERM, JUMP_EQUAL, LOAD, RETURN, decide, line, on_call

# Numbers of calls on x86_64 and aarch64; None where there is no such call.
Numbers = tuple[int | None, int | None]
SOCKET: Numbers = (41, 198)
RECVMSG: Numbers = (47, 212)
CLOSE: Numbers = (3, 57)
DUP2: Numbers = (33, None)
DUP3: Numbers = (292, 24)
REFUSED: dict[str, Numbers] = {
    "socketpair": (53, 199),  # an end for datagrams can be connected to any other socket
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "recvmmsg": (299, 243),
    # They would put another socket in the place of the channel.
    "close_range": (436, 436),
    "seccomp": (317, 277),
    "execve": (59, 221),
    "execveat": (322, 281),
}
FAMILIES = [int(socket.AF_INET), int(socket.AF_INET6)]


def is_possible() -> bool:
    """Whether this machine has such filters. The C library counts: musl resolves names with calls that are refused."""
    known = bpf.machine() is not None and platform.libc_ver()[0] == "glibc"
    return known and bpf.can_apply()


def prepare() -> None:
    """Have the C library and asyncio do without the calls that are refused. To call before the first name is resolved."""
    os.environ["RES_OPTIONS"] = "single-request"  # else glibc sends two questions by sendmmsg
    vars(asyncio.selector_events)["_HAS_SENDMSG"] = False  # Python 3.12 and newer


def apply(channel: int) -> bool:
    """Apply the filter to this process, for good; False where it is not possible. Raises ``OSError``.

    ``channel``: the descriptor of the channel to the opener, the only one by which descriptors come.
    """
    if (found := bpf.machine()) is None or not is_possible():
        return False
    assert (listed := seccomp.program()) is not None
    bpf.apply(listed)
    bpf.apply(program(*found, channel=channel))
    return True


def program(column: int, architecture: int, *, channel: int) -> bytes:
    """The filter in the kernel's format, which holds beside the list of what sandboxes may call."""
    rules = {numbers: [line(RETURN, EPERM)] for numbers in REFUSED.values()}
    rules[SOCKET] = decide(FAMILIES, ALLOW, otherwise=EPERM)
    # guard: egress-gate-gets-descriptors-from-its-opener-only
    rules[RECVMSG] = decide([channel], ALLOW, otherwise=EPERM)
    # guard: egress-channel-of-the-gate-stays-in-its-place
    rules |= {
        CLOSE: decide([channel], EPERM, otherwise=ALLOW),
        DUP2: decide([channel], EPERM, otherwise=ALLOW, argument=1),
        DUP3: decide([channel], EPERM, otherwise=ALLOW, argument=1),
    }
    lines = [
        line(LOAD, bpf.ARCHITECTURE),
        line(JUMP_EQUAL, architecture, 1, 0),
        line(RETURN, EPERM),
        line(LOAD, bpf.NUMBER),
    ]
    for numbers, body in rules.items():
        if (number := numbers[column]) is not None:
            lines += on_call(number, body)
    return b"".join([*lines, line(RETURN, ALLOW)])
