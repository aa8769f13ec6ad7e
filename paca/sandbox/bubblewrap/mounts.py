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
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 16384, 1 << 18
LOOP_GET_FREE, LOOP_CONFIGURE, LOOP_AUTOCLEAR = 0x4C82, 0x4C0A, 4
BLOCK_BYTES = 4096
LOOP_ATTEMPTS = 50
DETACH_SECONDS = 10.0  # a sandbox that has just ended may still write back what it changed
# A configuration: descriptor, block size, and the kernel's loop_info64 with only its flags set.
CONFIGURATION = struct.Struct("=II QQQQQ IIII 64s64s32s QQ 64s")


def run_with_private_mounts(function: Callable[[], Result]) -> Result:
    """Run a function in a thread whose mounts only it and the processes that it starts can see.

    The kernel removes the mounts with the last of these processes, however it ends. Raises what the
    function raises, and ``OSError`` if this process may not make a mount namespace.
    """

    def run() -> Result:
        _check(_libc.unshare(CLONE_NEWNS), "a mount namespace")
        _mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        return function()

    with ThreadPoolExecutor(1, "private-mounts") as thread:
        return thread.submit(run).result()


def mount_image(image: Path, folder: Path) -> None:
    """Mount the ext4 file system in a file, here and for nobody outside of this mount namespace.

    The file is locked as long as it is mounted anywhere: two mounts would destroy it. Raises ``OSError``.
    """
    backing = os.open(image, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        _wait_for_lock(backing)
        device = _attach_loop_device(backing)
    finally:
        os.close(backing)
    try:
        source, target = (
            f"/dev/loop{os.minor(os.fstat(device).st_rdev)}".encode(),
            os.fsencode(folder),
        )
        _mount(source, target, b"ext4", MS_NOSUID | MS_NODEV, b"discard,noinit_itable")
    finally:
        os.close(device)  # the mount keeps the device, which the kernel frees after it


def _wait_for_lock(descriptor: int) -> None:
    """Lock the file. The loop device keeps the descriptor, and with it the lock, until it is freed."""
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


def _mount(
    source: bytes, target: bytes, kind: bytes | None, flags: int, options: bytes | None
) -> None:
    done = _libc.mount(source, target, kind, ctypes.c_ulong(flags), options)
    _check(done, f"mounting {os.fsdecode(source)}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


_libc = ctypes.CDLL(None, use_errno=True)
