"""What the worker may do with files: stat, list, read, write, replace; never outside the workspace."""

from __future__ import annotations

import os
import stat

from paca.sandbox.runner import file_io
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.file_type import SNIFFED, binary_kind
from paca.sandbox.runner.line_window import MOST_LINES, described, window
from paca.sandbox.runner.listing import MOST_ENTRIES, entry, list_into
from paca.sandbox.runner.output import OutputFile
from paca.sandbox.runner.safe_path import Place
from paca.sandbox.runner.textdiff import compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LARGEST_READ = 4 << 20
LARGEST_DIFF = 2 << 20
KEPT_WRITES = 1024
KEPT_OUTPUTS = 32
OUTPUTS = ".paca/output"


class Files:
    """The workspace below one folder."""

    def __init__(self, root: str) -> None:
        self.root = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._written: dict[str, dict[str, Any]] = {}

    # --- looking ----------------------------------------------------------------------------------

    def stat(self, path: str) -> dict[str, Any]:
        with Place(self.root, path) as place:
            return entry(place.path, file_io.status(place))

    def list(self, path: str, depth: int, limit: int) -> list[dict[str, Any]]:
        limit = max(1, min(limit, MOST_ENTRIES))
        with Place(self.root, path) as place:
            if not stat.S_ISDIR(file_io.status(place).st_mode):
                raise RequestError("not_a_file", "This is not a directory.")
            fd = os.open(
                place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place.folder
            )
            prefix = "" if place.path == "." else f"{place.path}/"
        found: list[dict[str, Any]] = []
        list_into(found, fd, prefix, depth, limit)
        return found

    def read(self, path: str, offset: int, limit: int) -> bytes:
        with Place(self.root, path) as place:
            fd = file_io.open_regular(place)
        try:
            return os.pread(fd, max(0, min(limit, LARGEST_READ)), max(0, offset))
        finally:
            os.close(fd)

    def read_lines(self, path: str, first: int, count: int) -> dict[str, Any]:
        with Place(self.root, path) as place:
            fd = file_io.open_regular(place)
            name = place.path
        try:
            size = os.fstat(fd).st_size
            binary = binary_kind(os.pread(fd, SNIFFED, 0))
            if size > file_io.LARGEST:
                if binary:
                    return described(name, size, "", binary=binary)
                raise RequestError(
                    "file_too_large",
                    f"The file has {size} bytes; read a part with head, tail or sed.",
                )
            data = file_io.read_all(fd, size)
        finally:
            os.close(fd)
        digest = sha256(data)
        if binary:
            return described(name, size, digest, binary=binary)
        return described(
            name, size, digest, **window(data, max(1, first), max(0, min(count, MOST_LINES)))
        )

    # --- changing ---------------------------------------------------------------------------------

    def write(
        self, call_id: str, path: str, content: bytes, expected: str | None
    ) -> dict[str, Any]:
        return self._change(call_id, path, lambda _: content, expected, make=True)

    def replace(
        self, call_id: str, path: str, old: str, new: str, every: bool, expected: str | None
    ) -> dict[str, Any]:
        def edit(data: bytes | None) -> bytes:
            if data is None:
                raise RequestError("no_such_file")
            return _replaced(data, _text(old), _text(new), every=every)

        return self._change(call_id, path, edit, expected, make=False)

    def _change(
        self,
        call_id: str,
        path: str,
        edit: Callable[[bytes | None], bytes],
        expected: str | None,
        *,
        make: bool,
    ) -> dict[str, Any]:
        # guard: runner-written-files
        if call_id in self._written:
            return self._written[call_id]
        with Place(self.root, path, make=make) as place:
            before, mode = file_io.current(place)
            # guard: runner-expected-digest
            if expected is not None and (before is None or sha256(before) != expected):
                raise RequestError("file_changed")
            after = edit(before)
            if len(after) > file_io.LARGEST:
                raise RequestError("file_too_large")
            file_io.put(place, after, mode)
            change = _change_of(place.path, before, after)
        self._written[call_id] = change
        if len(self._written) > KEPT_WRITES:
            del self._written[next(iter(self._written))]
        return change

    # --- for commands -----------------------------------------------------------------------------

    def folder(self, path: str) -> int:
        """A descriptor of a folder, for a command to start in."""
        with Place(self.root, path) as place:
            if not stat.S_ISDIR(file_io.status(place).st_mode):
                raise RequestError("no_such_file", "The working directory is not a directory.")
            return os.open(
                place.name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place.folder
            )

    def output_file(self, call_id: str) -> OutputFile | None:
        """A new file for a long output; None if the agent made that impossible."""
        safe = (
            "".join(c for c in call_id if c.isascii() and (c.isalnum() or c in "-_"))[:64] or "call"
        )
        path = f"{OUTPUTS}/{safe}.txt"
        try:
            with Place(self.root, f"{OUTPUTS}/../.gitignore", make=True) as place:
                file_io.put(place, b"*\n", 0o644)
            with Place(self.root, path, make=True, follow=False) as place:
                _drop_oldest(place.folder)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                return OutputFile(os.open(place.name, flags, 0o644, dir_fd=place.folder), path)
        except (OSError, RequestError):
            return None


def sha256(data: bytes) -> str:
    import hashlib  # 6 ms that the first command need not wait for

    return hashlib.sha256(data).hexdigest()


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _replaced(data: bytes, old: bytes, new: bytes, *, every: bool) -> bytes:
    if not old:
        raise RequestError("no_such_text", "The text to replace is empty.")
    if old not in data and b"\r\n" in data:  # the model sees no carriage returns
        old, new = (_with_crlf(old), _with_crlf(new))
    times = data.count(old)
    if times == 0:
        raise RequestError("no_such_text")
    if times > 1 and not every:
        raise RequestError(
            "text_not_unique", f"The text occurs {times} times; give more of its surroundings."
        )
    return data.replace(old, new)


def _with_crlf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _change_of(path: str, before: bytes | None, after: bytes) -> dict[str, Any]:
    old, binary = (
        before or b"",
        binary_kind((before or b"")[:SNIFFED]) or binary_kind(after[:SNIFFED]),
    )
    added = removed = 0
    diff = ""
    if not binary and max(len(old), len(after)) <= LARGEST_DIFF:
        added, removed, diff = compare(
            old.decode("utf-8", "replace"), after.decode("utf-8", "replace"), path
        )
    digest = sha256(after)
    return {
        "path": path,
        "created": before is None,
        "digest": digest,
        "added": added,
        "removed": removed,
        "diff": diff.replace("\0", "␀"),
    }


def _drop_oldest(folder: int) -> None:
    fd = os.open(b".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
    try:
        names = os.listdir(fd)  # noqa: PTH208 - of a descriptor
        aged = sorted(
            names, key=lambda name: os.stat(name, dir_fd=fd, follow_symlinks=False).st_mtime
        )
        for name in aged[: max(0, len(names) - KEPT_OUTPUTS + 1)]:
            os.unlink(name, dir_fd=fd)
    finally:
        os.close(fd)
