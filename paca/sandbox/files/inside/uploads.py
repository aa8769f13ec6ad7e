"""Stores an uploaded file in the workspace: whole or not at all, and never over another file."""

from __future__ import annotations

import errno
import hashlib
import os
import sys

from paca.sandbox.files.inside import listing
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.safe_path import SafePath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHUNK_BYTES = 256 * 1024
MAX_NAMES = 1000
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def store(root: int, request: dict[str, Any]) -> dict[str, Any]:
    """Write the bytes that follow the request into the folder; gives the path.

    A file of this name and content stands for the same upload, which came before. If there is another one, the name
    gets a number. Raises ``RequestError`` and ``OSError``.
    """
    name, size = str(request["name"]), int(request["size"])
    with SafePath(root, f"{request['folder']}/{name}", create_folders=True, follow=False) as target:
        fd, temporary = _open_unnamed(target.folder_fd)
        try:
            digest = _receive(fd, size)
            os.fsync(fd)
            source = temporary or os.fsencode(f"/proc/self/fd/{fd}")
            stored = _link(target.folder_fd, source, name, size, digest)
        except OSError as error:
            if error.errno in FULL:
                raise RequestError("disk_full", "The workspace is full.") from None
            raise
        finally:
            os.close(fd)
            if temporary:
                os.unlink(temporary, dir_fd=target.folder_fd)
        folder = target.path.rpartition("/")[0]
    return {"path": f"{folder}/{stored}" if folder else stored, "size": size, "sha256": digest}


def _open_unnamed(folder: int) -> tuple[int, bytes]:
    """A new file without a name, which is gone if this program is killed; with one where the file system has none."""
    try:
        return os.open(b".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o644, dir_fd=folder), b""
    except OSError:
        name = b".paca-" + os.urandom(6).hex().encode()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o644, dir_fd=folder), name


def _receive(fd: int, size: int) -> str:
    digest, left = hashlib.sha256(), size
    while left:
        data = sys.stdin.buffer.read(min(CHUNK_BYTES, left))
        if not data:
            raise RequestError("incomplete", "The upload ended early.")
        digest.update(data)
        left -= len(data)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    return digest.hexdigest()


def _link(folder: int, source: bytes, name: str, size: int, digest: str) -> str:
    """Give the file its name, or the next one that is free. Raises ``RequestError`` and ``OSError``."""
    stem, dot, extension = name.rpartition(".")
    for number in range(1, MAX_NAMES):
        numbered = f"{stem} ({number}).{extension}" if dot and stem else f"{name} ({number})"
        wanted = (name if number == 1 else numbered).encode()
        try:
            os.link(source, wanted, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
        except FileExistsError:
            if _is_same(folder, wanted, size, digest):
                return wanted.decode()
            continue
        return wanted.decode()
    raise RequestError("name_taken", "There are too many files of this name; choose another one.")


def _is_same(folder: int, name: bytes, size: int, digest: str) -> bool:
    try:
        fd = listing.open_regular(folder, name)
    except OSError:
        return False
    found = hashlib.sha256()
    with os.fdopen(fd, "rb") as file:
        if os.fstat(fd).st_size != size:
            return False
        while data := file.read(CHUNK_BYTES):
            found.update(data)
    return found.hexdigest() == digest
