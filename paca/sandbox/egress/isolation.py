"""Takes from the gate process all that it does not need: files, programs and rights of the user that runs it.

A fault in the gate would be one in a process that reads bytes of sandboxes outside of them.
"""

from __future__ import annotations

import ctypes
import os
import resource
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

# System calls of Linux 5.13, which have the same numbers on every architecture but alpha.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ONLY_VERSION, PATH_BENEATH = 1, 1
# No signals to other processes, and no connection to their sockets without a file: since version 6.
SCOPES, SCOPES_SINCE = 1 << 1 | 1 << 0, 6
READ_FILE, READ_FOLDER = 1 << 2, 1 << 3
# What each version of Landlock can refuse: the number of its rights on files.
RIGHTS_BY_VERSION = (0, 13, 14, 15, 15, 16)
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP = 4, 38, 24
MAX_CAPABILITIES = 64
CAPABILITY_VERSION = 0x20080522
SYSTEM_FOLDERS = ("/etc", "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo", "/run/systemd/resolve", "/run/resolvconf")  # fmt: skip


def isolate(writable: Path) -> bool:
    """Leave this process the libraries of the system, and one folder to write in; False where the kernel has no Landlock.

    It can start no program, gets no new rights, and has no capability even as root. For good: there is no way back.
    Raises ``OSError``.
    """
    _load_what_comes_late()
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new rights")
    _check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "no memory dumps")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # guard: egress-gate-sees-its-folder-only
    found = _restrict_files(libc, writable)
    _drop_capabilities(libc)
    return found


def _load_what_comes_late() -> None:
    """Modules and libraries that resolving a name loads only when it is done for the first time."""
    "a.example".encode("idna")
    with suppress(OSError):
        socket.getaddrinfo("localhost", 80)


def landlock_version() -> int:
    """The version of Landlock in this kernel; 0 if it has none, or it is switched off."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ONLY_VERSION)))


def _restrict_files(libc: ctypes.CDLL, writable: Path) -> bool:
    if not (version := landlock_version()):
        return False
    rights = (1 << RIGHTS_BY_VERSION[min(version, len(RIGHTS_BY_VERSION) - 1)]) - 1
    handled = (ctypes.c_uint64 * 3)(rights, 0, SCOPES)
    size = 24 if version >= SCOPES_SINCE else 8  # older versions know the first number only
    rules = libc.syscall(CREATE_RULESET, handled, ctypes.c_size_t(size), 0)
    _check(rules, "rules for files")
    try:
        for path in readable_paths():
            _allow(libc, rules, path, READ_FILE | READ_FOLDER)
        _allow(libc, rules, writable, rights & ~1)  # all but to execute
        _check(libc.syscall(RESTRICT_SELF, rules, 0), "the rules for files")
    finally:
        os.close(rules)
    return True


def readable_paths() -> Iterator[Path]:
    """The folders of libraries, of settings of the resolver and of this code. Others have no business here."""
    import paca

    code = Path(paca.__file__).parent
    yield from _existing([*map(Path, SYSTEM_FOLDERS), code, *map(Path, sys.path[1:])])
    yield from _existing([Path(sys.base_prefix, "lib"), Path("/etc/resolv.conf").resolve()])


def _existing(paths: Iterable[Path]) -> list[Path]:
    """The paths that are there, without the checkout of this code: it may hold the data folder."""
    import paca

    checkout = Path(paca.__file__).parent.parent
    return [path for path in paths if path.exists() and path != checkout]


def _allow(libc: ctypes.CDLL, rules: int, path: Path, rights: int) -> None:
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        wanted = rights if path.is_dir() else rights & READ_FILE
        rule = wanted.to_bytes(8, sys.byteorder) + opened.to_bytes(4, sys.byteorder)
        _check(libc.syscall(ADD_RULE, rules, PATH_BENEATH, rule, 0), f"the rule for {path}")
    finally:
        os.close(opened)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    for capability in range(MAX_CAPABILITIES):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails without a right to drop
    header = CAPABILITY_VERSION.to_bytes(4, sys.byteorder) + bytes(4)
    _check(libc.capset(header, bytes(24)), "no capabilities")


def _check(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"the kernel refuses {what}")
