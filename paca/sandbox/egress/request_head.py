"""Reads the head of a request to the gate, strictly: what two programs could read differently is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_HEAD_BYTES = 16 << 10
MAX_HEADERS = 64
HEAD_END = b"\r\n\r\n"
REQUEST_LINE = re.compile(rb"([A-Z]{1,16}) ([\x21-\x7e]{1,8192}) HTTP/1\.([01])\Z")
HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}):[ \t]*([\x20-\x7e\t]*)\Z")
SINGLE_HEADERS = ("host", "content-length", "transfer-encoding")


class MalformedRequest(ValueError):
    """The bytes are no request that everybody reads in the same way."""


@dataclass(frozen=True, slots=True)
class Request:
    """``target`` as it was sent. ``headers``: names in small letters, values without spaces around them."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()

    def header(self, name: str) -> str | None:
        """The value of a header; None if it was not sent."""
        return next((value for each, value in self.headers if each == name), None)


def parse(head: bytes) -> Request:
    """The request of a head with its last empty line. Raises ``MalformedRequest``."""
    if len(head) > MAX_HEAD_BYTES or not head.endswith(HEAD_END):
        raise MalformedRequest("too long or without an end")
    first, *lines = head.removesuffix(HEAD_END).split(b"\r\n")
    begin = REQUEST_LINE.match(first)
    if begin is None or len(lines) > MAX_HEADERS:
        raise MalformedRequest("no request line, or too many headers")
    headers = tuple(_header(line) for line in lines)
    names = [name for name, _ in headers]
    # guard: egress-headers-that-count-stand-once
    if any(names.count(name) > 1 for name in SINGLE_HEADERS):
        raise MalformedRequest("a header twice")
    return Request(begin[1].decode("ascii"), begin[2].decode("ascii"), headers)


def _header(line: bytes) -> tuple[str, str]:
    # A bare CR, LF or NUL, a space before the colon and a continued line fit nowhere here.
    found = HEADER.match(line)
    if found is None:
        raise MalformedRequest("no header")
    return found[1].decode("ascii").lower(), found[2].decode("ascii").strip(" \t")
