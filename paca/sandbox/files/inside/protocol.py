"""The frames that the program writes to its standard output: a kind, a length and so many bytes."""

from __future__ import annotations

import os
import struct
import zlib

from paca.sandbox.runner.frames import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEADER = struct.Struct(">cI")
ANSWER, PACKED, DATA, ERROR = b"J", b"Z", b"D", b"E"
DATA_BYTES = 256 * 1024
OUTPUT_FD = 1


def send(kind: bytes, payload: bytes) -> None:
    """Write one frame. Raises ``OSError`` if nobody reads it any more."""
    view = memoryview(HEADER.pack(kind, len(payload)) + payload)
    while view:
        view = view[os.write(OUTPUT_FD, view) :]


def answer(value: Any) -> None:
    """Write an answer in JSON, in plain ASCII. Raises ``OSError``."""
    send(ANSWER, dumps(value).encode())


def packed_answer(value: Any) -> None:
    """Write an answer in compressed JSON, which those on its way need not read. Raises ``OSError``."""
    send(PACKED, zlib.compress(dumps(value).encode(), 1))


def error(code: str, detail: str = "") -> None:
    """Write the error that ends the request. Raises ``OSError``."""
    send(ERROR, dumps({"code": code, "detail": detail}).encode())


def send_file(fd: int, size: int) -> int:
    """Write the first ``size`` bytes of a file as data; gives how many there were. Raises ``OSError``."""
    sent = 0
    while sent < size and (data := os.read(fd, min(DATA_BYTES, size - sent))):
        send(DATA, data)
        sent += len(data)
    return sent
