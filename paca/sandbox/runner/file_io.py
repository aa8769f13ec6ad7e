"""Reads and writes regular files: never waits for a FIFO, never loads a huge file, writes atomically."""

from __future__ import annotations

import os
import stat

from paca.sandbox.runner.errors import RequestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from paca.sandbox.runner.safe_path import SafePath

MAX_FILE_BYTES = 32 << 20
TYPE_NAMES = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


def stat_target(target: SafePath) -> os.stat_result:
    """The status of the target itself, not of a file it links to. Raises ``OSError``."""
    return os.stat(target.name, dir_fd=target.folder_fd, follow_symlinks=False)


def open_regular(target: SafePath) -> int:
    """Open a file for reading without waiting. Raises ``RequestError`` if it is not a regular file, such
    as a FIFO without a writer, and ``OSError``."""
    _require_regular(stat_target(target))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    fd = os.open(target.name, flags, dir_fd=target.folder_fd)
    try:
        _require_regular(os.fstat(fd))  # it may have been replaced meanwhile
    except RequestError:
        os.close(fd)
        raise
    return fd


def _require_regular(found: os.stat_result) -> None:
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        raise RequestError(
            "not_a_file", f"This is {TYPE_NAMES.get(kind, 'no regular file')}, not a regular file."
        )


def read_all(fd: int, size: int) -> bytes:
    """The content of a file up to about ``MAX_FILE_BYTES``. ``size``: its expected length."""
    data = bytearray()
    while len(data) <= MAX_FILE_BYTES and (chunk := os.pread(fd, max(size, 4096), len(data))):
        data += chunk
    return bytes(data)


def read_if_exists(target: SafePath) -> tuple[bytes | None, int]:
    """The content and mode of a file; None and the mode for a new file if it does not exist.

    Raises ``RequestError`` if it is too large or not a regular file.
    """
    try:
        fd = open_regular(target)
    except FileNotFoundError:
        return None, 0o644
    try:
        found = os.fstat(fd)
        if found.st_size > MAX_FILE_BYTES:
            raise RequestError("file_too_large")
        return read_all(fd, found.st_size), stat.S_IMODE(found.st_mode)
    finally:
        os.close(fd)


def write_atomically(target: SafePath, content: bytes, mode: int) -> None:
    """Replace the whole file in one step: readers see the old content or the new one. Raises ``OSError``."""
    temporary = b".paca-" + os.urandom(6).hex().encode()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600, dir_fd=target.folder_fd)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.fchmod(fd, mode)
        os.fsync(fd)
        os.rename(temporary, target.name, src_dir_fd=target.folder_fd, dst_dir_fd=target.folder_fd)
    except BaseException:
        os.unlink(temporary, dir_fd=target.folder_fd)
        raise
    finally:
        os.close(fd)
