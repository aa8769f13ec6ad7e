"""The requests on files: stat, list, read, write and replace, never outside of the workspace."""

from __future__ import annotations

import os
import stat

from paca.sandbox.runner import file_io
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.file_type import binary_kind
from paca.sandbox.runner.line_window import MAX_LINES, file_answer, line_window
from paca.sandbox.runner.listing import MAX_ENTRIES, collect_entries, describe_entry
from paca.sandbox.runner.output import OutputFile
from paca.sandbox.runner.safe_path import SafePath, keep_usable
from paca.sandbox.runner.text_edit import (
    TextContent,
    describe_form,
    replace_text,
    rewrite_text,
    to_comparable,
)
from paca.sandbox.runner.text_encoding import SAMPLE_BYTES
from paca.sandbox.runner.textdiff import compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_READ_BYTES = 4 << 20
MAX_DIFF_BYTES = 2 << 20
MAX_REMEMBERED_WRITES = 1024
MAX_OUTPUT_FILES = 32
OUTPUT_FOLDER = ".paca/output"


class WorkspaceFiles:
    """The files below one folder. Paths are relative to it, or begin with /workspace.

    Methods raise ``RequestError`` for a path that leaves the workspace or a file of another type, and
    ``OSError`` if the file system refuses.
    """

    def __init__(self, root: str) -> None:
        self.root = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._written: dict[str, dict[str, Any]] = {}

    # --- reading ----------------------------------------------------------------------------------

    def stat(self, path: str) -> dict[str, Any]:
        """The entry of a path."""
        with SafePath(self.root, path) as target:
            return describe_entry(target.path, file_io.stat_target(target))

    def list(self, path: str, depth: int, limit: int) -> list[dict[str, Any]]:
        """The entries below a folder, ``depth`` levels deep and at most ``limit``.

        Raises ``RequestError`` if the path is no folder.
        """
        limit = max(1, min(limit, MAX_ENTRIES))
        keep_usable(f"/proc/self/fd/{self.root}")
        with SafePath(self.root, path) as target:
            if not stat.S_ISDIR(file_io.stat_target(target).st_mode):
                raise RequestError("not_a_file", "This is not a directory.")
            fd = os.open(
                target.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=target.folder_fd
            )
            prefix = "" if target.path == "." else f"{target.path}/"
        found: list[dict[str, Any]] = []
        collect_entries(found, fd, prefix, depth, limit)
        return found

    def read(self, path: str, offset: int, limit: int) -> bytes:
        """Up to ``limit`` bytes of a file from ``offset`` on."""
        with SafePath(self.root, path) as target:
            fd = file_io.open_regular(target)
        try:
            return os.pread(fd, max(0, min(limit, MAX_READ_BYTES)), max(0, offset))
        finally:
            os.close(fd)

    def read_lines(self, path: str, first: int, count: int) -> dict[str, Any]:
        """``count`` lines of a text file beginning with number ``first``, or the kind of a binary file.

        Raises ``RequestError`` if the path is no regular file, or the file is too large.
        """
        with SafePath(self.root, path) as target:
            fd = file_io.open_regular(target)
            name = target.path
        try:
            size = os.fstat(fd).st_size
            binary = binary_kind(os.pread(fd, SAMPLE_BYTES, 0))
            if size > file_io.MAX_FILE_BYTES:
                if binary:
                    return file_answer(name, size, "", binary=binary)
                raise RequestError(
                    "file_too_large",
                    f"The file has {size} bytes; read a part with head, tail or sed.",
                )
            data = file_io.read_all(fd, size)
        finally:
            os.close(fd)
        digest = sha256(data)
        if binary:
            return file_answer(name, size, digest, binary=binary)
        content = TextContent(data)
        window = line_window(content.lines(), max(1, first), max(0, min(count, MAX_LINES)))
        form = {"encoding": content.encoding.name, "line_ends": content.line_ends}
        return file_answer(name, size, digest, **window, **form)

    # --- writing ----------------------------------------------------------------------------------

    def write(
        self,
        call_id: str,
        path: str,
        content: bytes,
        expected: str | None,
        *,
        keep_form: bool = False,
    ) -> dict[str, Any]:
        """Write a whole file. A repeated ``call_id`` gets the first answer and writes nothing.

        ``expected``: the sha256 that the file must have now, if any. ``keep_form``: the content is text
        in UTF-8, and a text file that it replaces keeps its encoding, byte order mark and line ends.
        """

        def edit(data: bytes | None) -> bytes:
            return rewrite_text(data, content) if keep_form else content

        return self._change(call_id, path, edit, expected, create=True)

    def replace(
        self, call_id: str, path: str, old: str, new: str, every: bool, expected: str | None
    ) -> dict[str, Any]:
        """Replace a text that occurs once, or with ``every`` all its occurrences. See ``write``."""

        def edit(data: bytes | None) -> bytes:
            if data is None:
                raise RequestError("no_such_file")
            return replace_text(data, old, new, every=every)

        return self._change(call_id, path, edit, expected, create=False)

    def _change(
        self,
        call_id: str,
        path: str,
        edit: Callable[[bytes | None], bytes],
        expected: str | None,
        *,
        create: bool,
    ) -> dict[str, Any]:
        # guard: runner-written-files
        if call_id in self._written:
            return self._written[call_id]
        with SafePath(self.root, path, create_folders=create) as target:
            before, mode = file_io.read_if_exists(target)
            # guard: runner-expected-digest
            if expected is not None and (before is None or sha256(before) != expected):
                # A worker may repeat a write that another runner has carried out.
                is_repeated = before is not None and create and edit(before) == before
                if not is_repeated:
                    raise RequestError("file_changed")
            after = edit(before)
            if len(after) > file_io.MAX_FILE_BYTES:
                raise RequestError("file_too_large")
            file_io.write_atomically(target, after, mode)
            change = describe_change(target.path, before, after)
        self._written[call_id] = change
        if len(self._written) > MAX_REMEMBERED_WRITES:
            del self._written[next(iter(self._written))]
        return change

    # --- for commands -----------------------------------------------------------------------------

    def open_folder(self, path: str) -> int:
        """A descriptor of a folder in which a command is started. Raises ``RequestError`` if it is none."""
        keep_usable(f"/proc/self/fd/{self.root}")
        with SafePath(self.root, path) as target:
            if not stat.S_ISDIR(file_io.stat_target(target).st_mode):
                raise RequestError("no_such_file", "The working directory is not a directory.")
            return os.open(
                target.name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=target.folder_fd
            )

    def create_output_file(self, call_id: str) -> OutputFile | None:
        """A new file for a long output; None if the agent's files make that impossible."""
        safe = (
            "".join(c for c in call_id if c.isascii() and (c.isalnum() or c in "-_"))[:64] or "call"
        )
        path = f"{OUTPUT_FOLDER}/{safe}.txt"
        try:
            with SafePath(
                self.root, f"{OUTPUT_FOLDER}/../.gitignore", create_folders=True
            ) as target:
                file_io.write_atomically(target, b"*\n", 0o644)
            with SafePath(self.root, path, create_folders=True, follow=False) as target:
                _remove_oldest_outputs(target.folder_fd)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                return OutputFile(os.open(target.name, flags, 0o644, dir_fd=target.folder_fd), path)
        except (OSError, RequestError):
            return None


def sha256(data: bytes) -> str:
    """The digest of a file's content, in hexadecimal."""
    import hashlib  # takes 6 ms, which the first command should not wait for

    return hashlib.sha256(data).hexdigest()


def describe_change(path: str, before: bytes | None, after: bytes) -> dict[str, Any]:
    """The answer to a write that made ``after`` of ``before``, which is None for a new file."""
    added = removed = 0
    diff = ""
    if max(len(before or b""), len(after)) <= MAX_DIFF_BYTES:
        old, new = to_comparable(before or b""), to_comparable(after)
        if old is not None and new is not None:
            added, removed, diff = compare(old, new, path)
    digest = sha256(after)
    return {
        "path": path,
        "created": before is None,
        "changed": before != after,
        "digest": digest,
        "added": added,
        "removed": removed,
        "diff": diff.replace("\0", "␀"),
        **describe_form(after),
    }


def _remove_oldest_outputs(folder: int) -> None:
    fd = os.open(b".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
    try:
        names = os.listdir(fd)  # noqa: PTH208 - of a descriptor
        aged = sorted(
            names, key=lambda name: os.stat(name, dir_fd=fd, follow_symlinks=False).st_mtime
        )
        for name in aged[: max(0, len(names) - MAX_OUTPUT_FILES + 1)]:
            os.unlink(name, dir_fd=fd)
    finally:
        os.close(fd)
