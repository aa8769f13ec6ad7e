"""The frames between worker and runner: one line each, with the attachment's nonce, a length and a checksum.

A frame contains no newline. A frame that a killed worker left half-written ends at the next newline,
fails its checksum and is dropped. Each attachment begins with ``RESYNC``, which also breaks a frame that
lacks only its newline. Where several workers write to one stream, the parts of their long frames may mix and break
each other: the runner then tells ``EVERYONE`` to send again what it has not answered.
"""

from __future__ import annotations

from binascii import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAGIC = b"PACA1"
RESYNC = b" \n"
MAX_FRAME = 24 << 20
EVERYONE = "*"  # in place of a nonce: for every worker of a shared stream
RESEND = "resend"  # the key of a message that asks for unanswered requests again

try:  # the parts of json in C: the module imports ``re``, which takes longer than bwrap
    import _json

    class _ScannerOptions:
        strict = True
        object_hook = object_pairs_hook = None
        parse_float, parse_int = float, int
        parse_constant = float

    _scan = _json.make_scanner(_ScannerOptions)  # type: ignore[arg-type]
    _ascii = _json.encode_basestring_ascii
    _write = _json.make_encoder(None, None, _ascii, None, ":", ",", False, False, False)  # type: ignore[arg-type]

    def dumps(value: Any) -> str:
        """Compact JSON in plain ASCII."""
        return "".join(_write(value, 0))

    def loads(text: str) -> Any:
        """The value of a JSON text. Raises ``ValueError``."""
        try:
            value, end = _scan(text, 0)
        except StopIteration:
            raise ValueError("no JSON value") from None
        if end != len(text):
            raise ValueError("text after the JSON value")
        return value

    dumps({"probe": [1, "a", None]})
except (ImportError, AttributeError, TypeError):  # not CPython, or a version with other internals
    import json

    def dumps(value: Any) -> str:
        """Compact JSON in plain ASCII."""
        return json.dumps(value, separators=(",", ":"))

    def loads(text: str) -> Any:
        """The value of a JSON text. Raises ``ValueError``."""
        return json.loads(text)


def encode(nonce: str, message: dict[str, Any]) -> bytes:
    """A frame with its newline."""
    body = dumps(message).encode("ascii")
    return b"%b %b %d %08x %b\n" % (MAGIC, nonce.encode("ascii"), len(body), crc32(body), body)


def decode(line: bytes) -> tuple[str, dict[str, Any]] | None:
    """The nonce and message of a line without its newline; None if it is not a complete frame."""
    parts = line.split(b" ", 4)
    if len(parts) != 5 or parts[0] != MAGIC:
        return None
    _, nonce, length, checksum, body = parts
    try:
        if int(length) != len(body) or int(checksum, 16) != crc32(body):
            return None
        message = loads(body.decode("ascii"))
        return (nonce.decode("ascii"), message) if isinstance(message, dict) else None
    except (ValueError, RecursionError):
        return None


class FrameParser:
    """Splits a stream of bytes into frames and drops broken ones."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._skipping = False
        self.has_lost_frames = False  # whether something that was no frame has arrived

    def feed(self, data: bytes) -> list[tuple[str, dict[str, Any]]]:
        """Add bytes, and give the frames that are now complete."""
        self._buffer += data
        found = []
        while (end := self._buffer.find(b"\n", self._searched)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._searched = 0
            frame = None if self._skipping else decode(line)
            self._skipping = False
            if frame is not None:
                found.append(frame)
            elif line.strip():
                self.has_lost_frames = True
        self._searched = len(self._buffer)
        if self._searched > MAX_FRAME:
            self._buffer.clear()
            self._searched = 0
            self._skipping = True
        return found
