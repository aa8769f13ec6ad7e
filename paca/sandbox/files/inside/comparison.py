"""Compares two contents of one file: whether they differ, how many lines, and the unified diff."""

from __future__ import annotations

import hashlib
import os
import subprocess

from paca.sandbox.files.inside import contents
from paca.sandbox.runner.file_type import binary_kind
from paca.sandbox.runner.text_encoding import SAMPLE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHUNK_BYTES = 1 << 20
MAX_DIFF_BYTES = 2 << 20  # of each side
MAX_DIFF_CHARACTERS = 400_000
MAX_DIFF_LINES = 5_000
SECONDS = 10
SHA1_CHARACTERS = 40


def has_content(fd: int, size: int, blob_id: bytes) -> bool:
    """Whether an open file has the content with this id of Git."""
    digest = (hashlib.sha1 if len(blob_id) == SHA1_CHARACTERS else hashlib.sha256)(
        b"blob %d\0" % size
    )
    offset = 0
    while data := os.pread(fd, CHUNK_BYTES, offset):
        digest.update(data)
        offset += len(data)
        if offset > size:
            return False
    return digest.hexdigest().encode() == blob_id


def compare(before: bytes | None, after: bytes | None) -> dict[str, Any]:
    """The diff of two contents, of which one may be missing. ``cut``: it is longer than what is shown."""
    for content in (before or b"", after or b""):
        if len(content) > MAX_DIFF_BYTES:
            return {"binary": False, "diff": "", "too_large": True}
        if kind := binary_kind(content[:SAMPLE_BYTES]):
            return {"binary": True, "diff": "", "type": kind}
    old, new = (contents.decode(each)[0] if each else "" for each in (before, after))
    lines = _unified(old, new).split("\n")[2:]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    text = "\n".join(lines[:MAX_DIFF_LINES])
    cut = len(lines) > MAX_DIFF_LINES or len(text) > MAX_DIFF_CHARACTERS
    return {
        "binary": False,
        "diff": text[:MAX_DIFF_CHARACTERS],
        "added": added,
        "removed": removed,
        "cut": cut,
    }


def _unified(old: str, new: str) -> str:
    """The unified diff by the program ``diff``, which is quick also where the texts have nothing in common."""
    files = [_in_memory(each) for each in (old, new)]
    try:
        done = subprocess.run(  # noqa: S603 - inside the sandbox
            ["diff", "-u", *(f"/proc/self/fd/{fd}" for fd in files)],  # noqa: S607 - that of the image
            pass_fds=files,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return _without_program(old, new)
    finally:
        for fd in files:
            os.close(fd)
    return done.stdout.decode("utf-8", "replace").removesuffix("\n")


def _without_program(old: str, new: str) -> str:
    from paca.sandbox.runner.textdiff import compare as compare_lines

    return compare_lines(old, new, "file")[2].removesuffix("\n")


def _in_memory(text: str) -> int:
    fd = os.memfd_create("text", os.MFD_CLOEXEC)
    view = memoryview(text.encode("utf-8", "replace"))
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
