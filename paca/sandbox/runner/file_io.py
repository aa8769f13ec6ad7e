"""Regular files: opened without ever waiting, never loaded when huge, replaced all at once."""

from __future__ import annotations

import os
import stat

from paca.sandbox.runner.errors import RequestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from paca.sandbox.runner.safe_path import Place

LARGEST = 32 << 20
NAMES = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


def status(place: Place) -> os.stat_result:
    return os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)


def open_regular(place: Place) -> int:
    """Open for reading without ever waiting: a FIFO without a writer, a device, a socket."""
    _must_be_regular(status(place))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    fd = os.open(place.name, flags, dir_fd=place.folder)
    try:
        _must_be_regular(os.fstat(fd))  # it may have been exchanged in between
    except RequestError:
        os.close(fd)
        raise
    return fd


def _must_be_regular(found: os.stat_result) -> None:
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        raise RequestError(
            "not_a_file", f"This is {NAMES.get(kind, 'no regular file')}, not a regular file."
        )


def read_all(fd: int, size: int) -> bytes:
    data = bytearray()
    while len(data) <= LARGEST and (piece := os.pread(fd, max(size, 4096), len(data))):
        data += piece
    return bytes(data)


def current(place: Place) -> tuple[bytes | None, int]:
    try:
        fd = open_regular(place)
    except FileNotFoundError:
        return None, 0o644
    try:
        found = os.fstat(fd)
        if found.st_size > LARGEST:
            raise RequestError("file_too_large")
        return read_all(fd, found.st_size), stat.S_IMODE(found.st_mode)
    finally:
        os.close(fd)


def put(place: Place, content: bytes, mode: int) -> None:
    """The whole file at once: readers see the old one or the new one."""
    temporary = b".paca-" + os.urandom(6).hex().encode()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600, dir_fd=place.folder)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.fchmod(fd, mode)
        os.fsync(fd)
        os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        os.unlink(temporary, dir_fd=place.folder)
        raise
    finally:
        os.close(fd)
