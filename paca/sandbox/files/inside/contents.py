"""Shows what is in one file: as text, as an image, or what kind of file it is; and sends files whole."""

from __future__ import annotations

import os
import stat

from paca.sandbox.files.inside import listing, protocol
from paca.sandbox.runner import file_io
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.file_type import binary_kind
from paca.sandbox.runner.safe_path import SafePath, display_name
from paca.sandbox.runner.text_encoding import SAMPLE_BYTES, find_encoding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_TEXT_BYTES = 512 * 1024
MAX_LINES = 10_000
MAX_LINE_CHARACTERS = 4_000
MAX_DOWNLOAD_BYTES = 512 << 20
MAX_ARCHIVE_FILES = 20_000
ARCHIVE_SECONDS = 600.0
MAX_NAMED = 200
IMAGES = {
    "PNG image": "image/png",
    "JPEG image": "image/jpeg",
    "GIF image": "image/gif",
    "WebP image": "image/webp",
}


def show(root: int, request: dict[str, Any]) -> dict[str, Any]:
    """What a page shows of a file: its text, or its kind and size. Raises ``RequestError``, ``OSError``."""
    with SafePath(root, request["path"]) as target:
        found = file_io.stat_target(target)
        path = target.path
        if stat.S_ISDIR(found.st_mode):
            return {"path": path, "kind": "folder", "size": 0, "modified": found.st_mtime}
        fd = file_io.open_regular(target)
    try:
        return {"path": path, **describe(fd)}
    finally:
        os.close(fd)


def describe(fd: int) -> dict[str, Any]:
    """The kind, the size and, for text, the content of an open file."""
    status = os.fstat(fd)
    start = os.pread(fd, MAX_TEXT_BYTES + 1, 0)
    facts = {"size": status.st_size, "modified": round(status.st_mtime, 3)}
    type_name = binary_kind(start[:SAMPLE_BYTES])
    if type_name:
        media = IMAGES.get(type_name, "")
        return {**facts, "kind": "image" if media else "binary", "type": type_name, "media": media}
    text, encoding = decode(start[:MAX_TEXT_BYTES])
    lines = text.split("\n")
    cut = len(start) > MAX_TEXT_BYTES or len(lines) > MAX_LINES
    shown = [_cut_line(line) for line in lines[:MAX_LINES]]
    return {**facts, "kind": "text", "text": "\n".join(shown), "cut": cut, "encoding": encoding}


def decode(data: bytes) -> tuple[str, str]:
    """Bytes of a text file as text, and the name of their encoding, which is empty for UTF-8."""
    encoding = find_encoding(data[:SAMPLE_BYTES], is_sample=len(data) >= SAMPLE_BYTES)
    try:
        body, name = (encoding.to_utf8(data), encoding.name) if encoding else (data, "")
    except UnicodeDecodeError:  # cut in a character, or another encoding after the sample
        body, name = data, ""
    return body.decode("utf-8", "replace").replace("\0", "␀"), name


def _cut_line(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARACTERS else f"{line[:MAX_LINE_CHARACTERS]}…"


def send_whole(root: int, request: dict[str, Any]) -> dict[str, Any]:
    """Send one file: an answer with its size, its bytes, and the end. Raises ``RequestError``, ``OSError``."""
    with SafePath(root, request["path"]) as target:
        fd = file_io.open_regular(target)
        path = target.path
    try:
        size = os.fstat(fd).st_size
        if size > min(MAX_DOWNLOAD_BYTES, int(request.get("limit") or MAX_DOWNLOAD_BYTES)):
            raise RequestError("file_too_large", f"The file has {size} bytes.")
        media = IMAGES.get(binary_kind(os.pread(fd, SAMPLE_BYTES, 0)), "")
        protocol.answer({"path": path, "size": size, "media": media})
        sent = protocol.send_file(fd, size)
    finally:
        os.close(fd)
    return {"end": True, "sent": sent}


def send_all(root: int, request: dict[str, Any]) -> dict[str, Any]:
    """Send all files below a folder, each with an answer before it. Links are not followed and not sent.

    The end tells what was left out. Raises ``RequestError`` if the path is no folder, and ``OSError``.
    """
    with SafePath(root, request["path"]) as target:
        if not stat.S_ISDIR(file_io.stat_target(target).st_mode):
            raise RequestError("not_a_file", "This is not a folder.")
        top = os.open(target.name, listing.FOLDER_FLAGS, dir_fd=target.folder_fd)
    walk = listing.Walk(top, seconds=ARCHIVE_SECONDS)
    left_out: list[str] = []
    files, size, skipped = 0, 0, 0
    for folder, name, path, status in walk.files():
        fits = files < MAX_ARCHIVE_FILES and size + status.st_size <= MAX_DOWNLOAD_BYTES
        if not stat.S_ISREG(status.st_mode) or not fits or not _send_entry(folder, name, path):
            skipped += 1
            left_out += [display_name(path)] if len(left_out) < MAX_NAMED else []
            continue
        files, size = files + 1, size + status.st_size
    os.close(top)
    collapsed = [display_name(each) for each in walk.collapsed[:MAX_NAMED]]
    return {
        "end": True,
        "files": files,
        "left_out": left_out,
        "skipped": skipped,
        "collapsed": collapsed,
        "cut": walk.cut,
    }


def _send_entry(folder: int, name: bytes, path: bytes) -> bool:
    try:
        fd = listing.open_regular(folder, name)
    except OSError:
        return False
    try:
        status = os.fstat(fd)
        if status.st_size > MAX_DOWNLOAD_BYTES:
            return False
        protocol.answer(
            {
                "path": display_name(path),
                "size": status.st_size,
                "modified": round(status.st_mtime),
                "executable": bool(status.st_mode & stat.S_IXUSR),
            }
        )
        protocol.send_file(fd, status.st_size)
    finally:
        os.close(fd)
    return True
