"""Reads the name of the server from the first message of TLS, which is not encrypted."""

from __future__ import annotations

HANDSHAKE, CLIENT_HELLO, SERVER_NAME, HOST_NAME = 22, 1, 0, 0
RECORD_HEADER, MESSAGE_HEADER = 5, 4
MAX_RECORD_BYTES = 1 << 14
MAX_HELLO_BYTES = 16 << 10
MAX_RECORDS = 128  # the message is read again with each piece that arrives
# What a server answers that does not know the name: a fatal alert "unrecognized_name".
ALERT = bytes([21, 3, 1, 0, 2, 2, 112])


class NotTls(ValueError):
    """The bytes begin no handshake of TLS."""


class Reader:
    """Takes numbers and fields of a message in order. Raises ``NotTls`` if it ends too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def has_more(self) -> bool:
        """Whether something is left."""
        return self._at < len(self._data)

    def take(self, count: int) -> bytes:
        """The next bytes. Raises ``NotTls`` if fewer are left."""
        found = self._data[self._at : self._at + count]
        if len(found) < count:
            raise NotTls("a field is cut off")
        self._at += count
        return found

    def end(self) -> None:
        """Raises ``NotTls`` if something is left: two programs could read it differently."""
        if self.has_more:
            raise NotTls("bytes after the last field")

    def number(self, count: int) -> int:
        """The next number of so many bytes."""
        return int.from_bytes(self.take(count), "big")

    def field(self, length_bytes: int) -> bytes:
        """The next field, which begins with its length."""
        return self.take(self.number(length_bytes))


def server_name(data: bytes) -> str | None:
    """The name that a client asks for; None if the message has not arrived whole.

    An empty text is a message without a name. Raises ``NotTls``.
    """
    message = _join_records(data)
    if message is None:
        return None
    hello = Reader(message)
    hello.take(2 + 32)  # the version and the random number
    hello.field(1)  # the session
    hello.field(2)  # the ciphers
    hello.field(1)  # the compressions
    if not hello.has_more:
        return ""
    extensions = Reader(hello.field(2))
    hello.end()
    names = []
    while extensions.has_more:
        kind, content = extensions.number(2), extensions.field(2)
        if kind == SERVER_NAME:
            names += _names(content)
    # guard: egress-one-name-of-a-server
    if len(names) > 1:
        raise NotTls("more than one name")
    return names[0] if names else ""


def _names(content: bytes) -> list[str]:
    """The names in the extension. Every entry counts: a server might read another one than the first."""
    extension = Reader(content)
    entries, names = Reader(extension.field(2)), []
    extension.end()
    while entries.has_more:
        kind, name = entries.number(1), entries.field(2)
        if kind != HOST_NAME or not name.isascii():
            raise NotTls("a name of an unknown kind")
        names.append(name.decode("ascii").lower())
    return names


def _join_records(data: bytes) -> bytes | None:
    """The body of the message, which may be spread over several records; None if it has not arrived whole."""
    parts, at, count = b"", 0, 0
    while (message := _message(parts)) is None:
        # guard: egress-few-records-of-a-first-message
        if count >= MAX_RECORDS:
            raise NotTls("too many records")
        record = _record(data[at : at + RECORD_HEADER + MAX_RECORD_BYTES])
        if record is None:
            return None
        parts, count = parts + record, count + 1
        at += RECORD_HEADER + len(record)
    return message


def _message(parts: bytes) -> bytes | None:
    """The body of the message that begins here; None if a part of it is missing."""
    if parts and parts[0] != CLIENT_HELLO:
        raise NotTls("another message than the first")
    if len(parts) < MESSAGE_HEADER:
        return None
    length = int.from_bytes(parts[1:MESSAGE_HEADER], "big")
    if length > MAX_HELLO_BYTES:
        raise NotTls("a message that is too long")
    return (
        parts[MESSAGE_HEADER : MESSAGE_HEADER + length]
        if len(parts) >= MESSAGE_HEADER + length
        else None
    )


def _record(data: bytes) -> bytes | None:
    """The content of the record that begins here; None if a part of it is missing."""
    if data and data[0] != HANDSHAKE or len(data) > 1 and data[1] != 3:
        raise NotTls("no record of a handshake")
    if len(data) < RECORD_HEADER:
        return None
    size = int.from_bytes(data[3:RECORD_HEADER], "big")
    if not 0 < size <= MAX_RECORD_BYTES:
        raise NotTls("a record without a fitting length")
    return data[RECORD_HEADER : RECORD_HEADER + size] if len(data) >= RECORD_HEADER + size else None
