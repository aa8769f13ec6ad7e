"""The output of a command: its head and tail in memory, and a long output whole in a file."""

from __future__ import annotations

import codecs
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

HEAD_CHARACTERS = 16_384
TAIL_CHARACTERS = 32_768
MAX_LIVE_CHARACTERS = 131_072  # more unshown text than this is not shown live
MAX_FILE_BYTES = 50 << 20


class CallOutput:
    """Decodes and keeps the output of one call. ``open_file`` makes the file for a long output."""

    def __init__(self, open_file: Callable[[], OutputFile | None]) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open_file = open_file
        self._file: OutputFile | None = None
        self._head = ""
        self._tail = ""
        self._live = ""
        self._total_characters = 0
        self.truncated = False
        self.path = ""

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Add bytes as they were read. A character that is split over two reads stays whole."""
        text = self._decoder.decode(data, final)
        if not text:
            return
        text = text.replace("\0", "␀")
        self._total_characters += len(text)
        if self._file is not None:
            self._file.write(text)
        self._live = _shorten(self._live + text)
        space = HEAD_CHARACTERS - len(self._head)
        self._head += text[:space]
        self._tail += text[space:] if space > 0 else text
        if not self.truncated and self._total_characters > HEAD_CHARACTERS + TAIL_CHARACTERS:
            self._start_file()
        if len(self._tail) > 2 * TAIL_CHARACTERS:
            self._tail = self._tail[-TAIL_CHARACTERS:]

    def _start_file(self) -> None:
        self.truncated = True
        self._file = self._open_file()
        if self._file is not None:
            self.path = self._file.path
            self._file.write(self._head + self._tail)

    def close(self) -> None:
        """Finish the output; no more bytes follow."""
        self.feed(b"", final=True)
        if self._file is not None:
            self._file.close()

    def take_live(self) -> str:
        """The text since the last call of this method, for the worker that follows the call."""
        text, self._live = self._live, ""
        return text

    @property
    def live(self) -> str:
        """The text that has not been shown live yet."""
        return self._live

    def text(self) -> str:
        """The whole output, or its head and tail with a line between them that says how much is missing."""
        if not self.truncated:
            return self._head + self._tail
        tail = self._tail[-TAIL_CHARACTERS:]
        left_out = self._total_characters - len(self._head) - len(tail)
        where = f"; all of it is in {self.path}" if self.path else ""
        return f"{self._head}\n[... {left_out} characters left out{where} ...]\n{tail}"

    def shrink(self) -> None:
        """Free the memory of an old output, of which only the end is kept."""
        if len(self._head) + len(self._tail) > 2048:
            self._head, self._tail, self.truncated = "", self.text()[-1024:], True


class OutputFile:
    """A file in the workspace for a long output. It takes text up to a limit; its errors never fail the call."""

    def __init__(self, fd: int, path: str) -> None:
        self.path = path
        self._fd = fd
        self._bytes_left = MAX_FILE_BYTES

    def write(self, text: str) -> None:
        """Append text, as far as the limit allows."""
        if self._bytes_left <= 0:
            return
        data = text.encode("utf-8", "replace")[: self._bytes_left]
        self._bytes_left -= len(data)
        try:
            os.write(self._fd, data)
        except OSError:  # the workspace is full, or the agent made the file read-only
            self._bytes_left = 0

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def _shorten(text: str) -> str:
    if len(text) <= MAX_LIVE_CHARACTERS:
        return text
    return "[... skipped ...]\n" + text[-MAX_LIVE_CHARACTERS // 2 :]
