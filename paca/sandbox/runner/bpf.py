"""Writes filters of system calls in the kernel's format, and applies one to this process."""

from __future__ import annotations

import ctypes
import errno
import os

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_SET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERROR, EPERM, ENOSYS = 0x7FFF0000, 0x00050000, 0x00050001, 0x00050026
EOPNOTSUPP = ERROR | 95
NUMBER, ARCHITECTURE = 0, 4
ARGUMENTS = (16, 24, 32)  # of the lower half of each argument, which is all that these calls read
# By machine: the column of its call numbers in tables, and its name in a filter.
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
PR_SET_SECCOMP, FILTER_MODE = 22, 2


def line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction. ``if_true`` and ``if_false``: how many instructions a comparison skips."""
    return code.to_bytes(2, "little") + bytes((if_true, if_false)) + value.to_bytes(4, "little")


def on_call(number: int, body: list[bytes]) -> list[bytes]:
    """Instructions for one system call; ``body`` returns in every case."""
    return [line(JUMP_EQUAL, number, 0, len(body)), *body]


def decide(
    values: list[int], action: int, *, otherwise: int, test: int = JUMP_EQUAL, argument: int = 0
) -> list[bytes]:
    """Return ``action`` if an argument of the call passes the test with one of the values."""
    checks = [part for value in values for part in (line(test, value, 0, 1), line(RETURN, action))]
    return [line(LOAD, ARGUMENTS[argument]), *checks, line(RETURN, otherwise)]


def apply(program: bytes) -> None:
    """Apply a filter to this process and all that it starts from now on. Raises ``OSError``."""
    code = ctypes.create_string_buffer(program, len(program))
    described = (ctypes.c_uint64 * 2)(len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, FILTER_MODE, described, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot set the filter of system calls")


def can_apply() -> bool:
    """Whether this kernel has filters of system calls: it then looks for the one that is not there."""
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.prctl(PR_SET_SECCOMP, FILTER_MODE, None, 0, 0) != 0
    return failed and ctypes.get_errno() == errno.EFAULT


def machine() -> tuple[int, int] | None:
    """The entry of this machine in ``ARCHITECTURES``; None if it is not listed."""
    return ARCHITECTURES.get(os.uname().machine)
