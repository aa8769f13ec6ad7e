"""Reads the lines that a person types, in a thread: the terminal blocks, the client does not."""

from __future__ import annotations

import asyncio
import codecs
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

READ_BYTES = 65_536


def follow(descriptor: int, on_line: Callable[[str | None], None]) -> None:
    """Call ``on_line`` in the running event loop with each line, and with None at the end of the input.

    The thread ends with the process: nothing can wake it from a terminal that says nothing. It reads the
    descriptor itself, because a buffer of Python that is being read cannot be closed at the end.
    """
    loop = asyncio.get_running_loop()

    def read() -> None:
        with suppress(RuntimeError):  # the loop has ended
            for line in read_lines(lambda: os.read(descriptor, READ_BYTES)):
                loop.call_soon_threadsafe(on_line, line)
            loop.call_soon_threadsafe(on_line, None)

    threading.Thread(target=read, name="input", daemon=True).start()


def read_lines(read: Callable[[], bytes]) -> Iterator[str]:
    """Each line of what ``read`` gives, until it gives nothing or the terminal is gone."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    begun = ""
    while True:
        try:
            data = read()
        except OSError:
            data = b""
        begun += decoder.decode(data, final=not data)
        *lines, begun = begun.split("\n")
        yield from (line.rstrip("\r") for line in lines)
        if not data:
            if begun:
                yield begun
            return
