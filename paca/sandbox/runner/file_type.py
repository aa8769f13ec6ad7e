"""Distinguishes text files from binary ones, and names the kind of a binary file."""

from paca.sandbox.runner.text_encoding import SAMPLE_BYTES, find_encoding

SIGNATURES = (
    (0, b"%PDF-", "PDF"),
    (0, b"\x89PNG\r\n\x1a\n", "PNG image"),
    (0, b"\xff\xd8\xff", "JPEG image"),
    (0, b"GIF8", "GIF image"),
    (8, b"WEBP", "WebP image"),
    (0, b"\x1f\x8b", "gzip archive"),
    (0, b"PK\x03\x04", "zip archive"),
    (0, b"BZh", "bzip2 archive"),
    (0, b"\xfd7zXZ\0", "xz archive"),
    (0, b"\x28\xb5\x2f\xfd", "zstd archive"),
    (257, b"ustar", "tar archive"),
    (0, b"\x7fELF", "ELF program"),
    (0, b"SQLite format 3\0", "SQLite database"),
    (0, b"\0asm", "WebAssembly module"),
    (4, b"ftyp", "MP4 video"),
    (0, b"OggS", "Ogg media"),
    (0, b"ID3", "MP3 audio"),
)


def binary_kind(start: bytes) -> str:
    """The kind of a binary file from its first ``SAMPLE_BYTES``; empty for text."""
    for offset, signature, name in SIGNATURES:
        if start[offset : offset + len(signature)] == signature:
            return name
    is_sample = len(start) >= SAMPLE_BYTES
    return "" if find_encoding(start, is_sample=is_sample) else "binary data"
