"""Books the connections of one conversation in a file, and counts what they have transferred."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paca.sandbox.egress.reasons import Reason


@dataclass(frozen=True, slots=True)
class Booked:
    """One line: the begin of a connection, or its end with the bytes of both ways. ``at``: seconds since 1970."""

    at: float
    host: str
    port: int
    reason: Reason = Reason.NONE
    sent: int = 0
    received: int = 0
    begins: bool = True


@dataclass(frozen=True, slots=True)
class Used:
    """What a conversation has used of its budget: connections, refused ones included, and bytes both ways."""

    requests: int = 0
    bytes: int = 0


UNUSED = Used()


class Booking:
    """The connections of one conversation. A process that continues the file continues its sums.

    ``earlier``: what the conversation has used by gates that are removed.

    A connection is booked before it is made: what the file does not name has not happened. The bytes of
    connections that were open when the process was killed are not in it.
    """

    def __init__(self, path: Path, earlier: Used = UNUSED) -> None:
        self._path = path
        self.requests = earlier.requests
        self.bytes = earlier.bytes
        for line in read_lines(path, 0)[0]:
            self.requests += line.begins
            self.bytes += line.sent + line.received

    def begin(self, host: str, port: int, reason: Reason = Reason.NONE) -> None:
        """Book a connection that is made, or refused for the reason. Raises ``OSError`` if that is not possible."""
        self.requests += 1
        self._write(Booked(time.time(), host, port, reason))

    def end(self, host: str, port: int, reason: Reason, *, sent: int, received: int) -> None:
        """Book the end of a connection that was made. ``reason``: why the gate cut it, if it did."""
        self._write(Booked(time.time(), host, port, reason, sent, received, begins=False))

    def _write(self, line: Booked) -> None:
        fields = [
            round(line.at, 3),
            line.host[:253],
            line.port,
            line.reason.value,
            line.sent,
            line.received,
            line.begins,
        ]
        data = json.dumps(fields).encode("ascii") + b"\n"
        descriptor = os.open(
            self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)


def read_lines(path: Path, offset: int, *, most: int = -1) -> tuple[list[Booked], int]:
    """The whole lines from the offset on, and the offset after them. A file that is not there has none.

    ``most``: bytes to read; negative for all.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(most)
    except FileNotFoundError:
        return [], offset
    end = data.rfind(b"\n") + 1
    return list(_parse(data[:end].splitlines())), offset + end


def _parse(lines: Iterable[bytes]) -> Iterable[Booked]:
    for line in lines:
        try:
            at, host, port, reason, sent, received, begins = _fields(line)
            yield Booked(at, host, port, Reason(reason), sent, received, begins)
        except ValueError:  # cut off by a crash or a full disk
            continue


def _fields(line: bytes) -> list[Any]:
    fields = json.loads(line)
    if not isinstance(fields, list):
        raise ValueError("no line of a booking")
    return fields
