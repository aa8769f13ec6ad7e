"""The filter of system calls for bubblewrap: refuses calls that commands do not need and that had holes."""

import platform
import struct

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_SET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET
AF_ALG, AF_VSOCK = 38, 40
X32 = 0x40000000

# name: (x86_64, aarch64). From 424 on the numbers are the same everywhere.
REFUSED_CALLS = {
    "ptrace": (101, 117),
    "syslog": (103, 116),
    "pivot_root": (155, 41),
    "acct": (163, 89),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "fanotify_init": (300, 262),
    "open_by_handle_at": (304, 265),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "finit_module": (313, 273),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "pidfd_getfd": (438, 438),
    "mount_setattr": (442, 442),
}
CLONE, CLONE3, SOCKET = (56, 220), (435, 435), (41, 198)
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def program() -> bytes | None:
    """The filter in the kernel's format; None on a processor whose call numbers are not listed here."""
    if platform.machine() not in ARCHITECTURES:
        return None
    column, audit = ARCHITECTURES[platform.machine()]
    lines = [
        _line(LOAD, ARCHITECTURE),
        _line(JUMP_EQUAL, audit, 1, 0),
        _line(RETURN, EPERM),  # calls of 32-bit programs have other numbers, so all are refused
        _line(LOAD, NUMBER),
        _line(JUMP_AT_LEAST, X32, 0, 1),
        _line(RETURN, ENOSYS),
    ]
    for numbers in REFUSED_CALLS.values():
        lines += _refuse(numbers[column], EPERM)
    # A filter cannot read its flags; libraries fall back to clone.
    lines += _refuse(CLONE3[column], ENOSYS)
    lines += _refuse_if(CLONE[column], [(JUMP_SET, NEW_NAMESPACES)])
    lines += _refuse_if(SOCKET[column], [(JUMP_EQUAL, AF_ALG), (JUMP_EQUAL, AF_VSOCK)])
    lines.append(_line(RETURN, ALLOW))
    return b"".join(lines)


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _refuse(number: int, action: int) -> list[bytes]:
    return [_line(JUMP_EQUAL, number, 0, 1), _line(RETURN, action)]


def _refuse_if(number: int, tests: list[tuple[int, int]]) -> list[bytes]:
    """Refuse the call if one of the tests on its first argument is true."""
    checks = [
        part for test, value in tests for part in (_line(test, value, 0, 1), _line(RETURN, EPERM))
    ]
    body = [_line(LOAD, FIRST_ARGUMENT), *checks, _line(RETURN, ALLOW)]
    return [_line(JUMP_EQUAL, number, 0, len(body)), *body]
