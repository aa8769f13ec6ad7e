"""System calls for mounts: a mount namespace of a thread's own, and file systems in files."""

import ctypes
import errno
import fcntl
import os
import struct
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
CLONE_NEWNS = 0x20000
MS_REC, MS_PRIVATE = 16384, 1 << 18
# System calls of Linux 5.2, which have the same numbers on every architecture but alpha.
MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT = 429, 430, 431, 432
SET_FLAG, SET_STRING, CREATE = 0, 1, 6  # of FSCONFIG
CLOEXEC = 1  # of FSOPEN and FSMOUNT
NO_SETUID, NO_DEVICES = 2, 4  # of FSMOUNT
WHOLE_DESCRIPTOR = 4  # of MOVE_MOUNT: the mount is that of the descriptor itself
AT_CURRENT_FOLDER = -100
LOOP_GET_FREE, LOOP_CONFIGURE, LOOP_AUTOCLEAR = 0x4C82, 0x4C0A, 4
BLOCK_BYTES = 4096
LOOP_ATTEMPTS = 50
DETACH_SECONDS = 10.0  # a sandbox that has just ended may still write back what it changed
# A configuration: descriptor, block size, and the kernel's loop_info64 with only its flags set.
CONFIGURATION = struct.Struct("=II QQQQQ IIII 64s64s32s QQ 64s")


def run_in_new_thread(function: Callable[[], Result]) -> Result:
    """Run a function in a thread that ends with it: it may change the namespaces and groups of its thread.

    Raises what the function raises.
    """
    with ThreadPoolExecutor(1, "sandbox-start") as thread:
        return thread.submit(function).result()


def make_mounts_private() -> None:
    """From now on only this thread and the processes that it starts see its mounts.

    The kernel removes the mounts with the last of them, however it ends. Raises ``OSError`` if this process
    may not make a mount namespace.
    """
    _check(_libc.unshare(CLONE_NEWNS), "a mount namespace")
    flags = ctypes.c_ulong(MS_REC | MS_PRIVATE)
    _check(_libc.mount(b"none", b"/", None, flags, None), "private mounts")


def open_file_system(image: int) -> int:
    """The mount of the ext4 file system in an open file, as a descriptor; ``attach`` puts it on a folder.

    Until then no path leads to it. When the descriptor is closed, however its process ends, the kernel
    unmounts it. The file stays locked as long as it is mounted: two mounts would destroy it. Raises
    ``OSError``.
    """
    wait_for_lock(image)
    device = _attach_loop_device(image)
    try:
        mount = _mount_device(f"/dev/loop{os.minor(os.fstat(device).st_rdev)}")
    finally:
        os.close(device)  # the mount keeps the device, which the kernel frees after it
    return mount


def attach(mount: int, folder: Path) -> None:
    """Put a mount on a folder, in the mount namespace of this thread. Raises ``OSError``."""
    words = mount, b"", AT_CURRENT_FOLDER, os.fsencode(folder), WHOLE_DESCRIPTOR
    _call(MOVE_MOUNT, *words, what=f"mounting {folder.name}")


def _mount_device(device: str) -> int:
    context = _call(FSOPEN, b"ext4", CLOEXEC, what="ext4")
    try:
        _call(FSCONFIG, context, SET_STRING, b"source", device.encode(), 0, what=device)
        for option in (b"discard", b"noinit_itable"):
            _call(FSCONFIG, context, SET_FLAG, option, None, 0, what=option.decode())
        _call(FSCONFIG, context, CREATE, None, None, 0, what=f"mounting {device}")
        return _call(FSMOUNT, context, CLOEXEC, NO_SETUID | NO_DEVICES, what=f"mounting {device}")
    finally:
        os.close(context)


def wait_for_lock(descriptor: int) -> None:
    """Lock a file, as long as a process or a loop device has this descriptor of it. Raises ``OSError``."""
    deadline = time.monotonic() + DETACH_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return


def _attach_loop_device(backing: int) -> int:
    """A descriptor of a loop device for an open file."""
    nothing = (0,) * 5, (0, 0, 0, LOOP_AUTOCLEAR), (b"", b"", b"", 0, 0, b"")
    configuration = CONFIGURATION.pack(
        backing, BLOCK_BYTES, *(word for part in nothing for word in part)
    )
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        for _ in range(LOOP_ATTEMPTS):
            number = fcntl.ioctl(control, LOOP_GET_FREE)
            device = os.open(f"/dev/loop{number}", os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(device, LOOP_CONFIGURE, configuration)
            except OSError as error:
                os.close(device)
                if error.errno != errno.EBUSY:  # another process took it meanwhile
                    raise
            else:
                return device
    finally:
        os.close(control)
    raise OSError(errno.EBUSY, "no loop device is free")


def _call(number: int, *words: int | bytes | None, what: str) -> int:
    """A system call. Raises ``OSError``."""
    given = [ctypes.c_long(word) if isinstance(word, int) else word for word in words]
    result = int(_libc.syscall(ctypes.c_long(number), *given))
    _check(result, what)
    return result


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


_libc = ctypes.CDLL(None, use_errno=True)
