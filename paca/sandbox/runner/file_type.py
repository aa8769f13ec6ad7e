"""Distinguishes text files from binary ones, and names the kind of a binary file."""

SNIFF_BYTES = 8192
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
    (0, b"\xff\xfe", "UTF-16 text"),
    (0, b"\xfe\xff", "UTF-16 text"),
)
CONTROL_CHARACTERS = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b"))


def binary_kind(start: bytes) -> str:
    """The kind of a binary file from its first bytes; empty for text."""
    for offset, signature, name in SIGNATURES:
        if start[offset : offset + len(signature)] == signature:
            return name
    if b"\0" in start:
        return "binary data"
    controls = len(start) - len(start.translate(None, CONTROL_CHARACTERS))
    decodable = start.decode("utf-8", "ignore").encode()
    undecodable = len(start) - len(decodable)
    return "binary data" if controls * 10 > len(start) or undecodable * 10 > 3 * len(start) else ""
