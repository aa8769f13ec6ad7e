"""The standard output of a process that the worker talks with."""

from __future__ import annotations

MAX_UNREAD_BYTES = 4 << 20  # of an ended process, whose worker does not take them


class PipeOutput:
    """The standard output of one process, as it is. It has the methods of ``CallOutput`` that the call table uses."""

    truncated = False
    path = ""

    def __init__(self) -> None:
        self.unsent = bytearray()
        self.errors = ""

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Add bytes as they were read."""
        if len(self.unsent) < MAX_UNREAD_BYTES:
            self.unsent += data

    def close(self) -> None:
        """Do nothing: there is no file."""

    def take_live(self) -> str:
        """Nothing: a pipe has no text to show."""
        return ""

    live = ""

    def text(self) -> str:
        """The end of what the process wrote to its standard error, or why it could not be started."""
        return self.errors or self.unsent.decode("utf-8", "replace")

    def shrink(self) -> None:
        """Free the memory of an old output."""
        self.unsent.clear()
