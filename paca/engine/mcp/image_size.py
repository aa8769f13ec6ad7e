"""Reads the width and height of an image from its head, without decoding it."""

from __future__ import annotations

import struct

# Of a JPEG: the marks of frames, which hold the size; others (huffman tables and the like) share their numbers.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
MAX_SEGMENTS = 1_000


def size_of(kind: str, data: bytes) -> tuple[int, int] | None:
    """The width and height in pixels; None if these bytes are no image of this kind (a media type)."""
    read = READERS.get(kind)
    try:
        width, height = read(data) if read else (0, 0)
    except (struct.error, IndexError):
        return None
    return (width, height) if width > 0 and height > 0 else None


def _png(data: bytes) -> tuple[int, int]:
    if not data.startswith(b"\x89PNG\r\n\x1a\n") or data[12:16] != b"IHDR":
        return 0, 0
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif(data: bytes) -> tuple[int, int]:
    if not data.startswith((b"GIF87a", b"GIF89a")):
        return 0, 0
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _jpeg(data: bytes) -> tuple[int, int]:
    if not data.startswith(b"\xff\xd8\xff"):
        return 0, 0
    at = 2
    for _ in range(MAX_SEGMENTS):
        while data[at] == 0xFF and data[at + 1] == 0xFF:  # fill bytes
            at += 1
        mark = data[at + 1]
        if data[at] != 0xFF:
            return 0, 0
        if mark in FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        (length,) = struct.unpack_from(">H", data, at + 2)
        at += 2 + length
    return 0, 0


def _webp(data: bytes) -> tuple[int, int]:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return 0, 0
    form = data[12:16]
    if form == b"VP8X":
        return _three_bytes(data, 24) + 1, _three_bytes(data, 27) + 1
    if form == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0


def _three_bytes(data: bytes, at: int) -> int:
    first, second, third = struct.unpack_from("BBB", data, at)
    return int(first | second << 8 | third << 16)


READERS = {"image/png": _png, "image/gif": _gif, "image/jpeg": _jpeg, "image/webp": _webp}
