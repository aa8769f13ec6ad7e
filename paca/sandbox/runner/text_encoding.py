"""Recognizes the encoding of a text file, and converts its content to UTF-8 and back without loss."""

from __future__ import annotations

from paca.sandbox.runner.errors import RequestError

SAMPLE_BYTES = 8192
UTF8_BOM = b"\xef\xbb\xbf"
# The marks of UTF-32 come first: that of UTF-16 LE is the beginning of one of them.
MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le", "UTF-32 LE"),
    (b"\0\0\xfe\xff", "utf-32-be", "UTF-32 BE"),
    (b"\xff\xfe", "utf-16-le", "UTF-16 LE"),
    (b"\xfe\xff", "utf-16-be", "UTF-16 BE"),
)
CONTROL_CHARACTERS = "".join(map(chr, set(range(32)) - set(b"\t\n\v\f\r\b\x1b")))
CONTROL_BYTES = CONTROL_CHARACTERS.encode()
MAX_UNDECODABLE_BYTES_OF_SHORT_TEXT = 16


class TextEncoding:
    """The encoding of one file. ``name`` is empty for plain UTF-8.

    Without ``codec`` the content is already UTF-8, or its other bytes stay as they are.
    ``ascii_only``: only ASCII can be written, since the meaning of the other bytes is not known.
    """

    def __init__(
        self, name: str = "", codec: str = "", mark: bytes = b"", *, ascii_only: bool = False
    ) -> None:
        self.name = name
        self._codec = codec
        self._mark = mark
        self._ascii_only = ascii_only

    def to_utf8(self, data: bytes) -> bytes:
        """The content of the file as UTF-8, without its byte order mark."""
        body = data[len(self._mark) :]
        return body.decode(self._codec).encode() if self._codec else body

    def from_utf8(self, body: bytes) -> bytes:
        """The content in the encoding of the file, with its byte order mark.

        Raises ``RequestError`` for a character that the encoding does not have.
        """
        return self._mark + (self.encode(body.decode()) if self._codec else body)

    def encode(self, text: str) -> bytes:
        """The text in this encoding. Raises ``RequestError`` for a character that the encoding lacks."""
        codec = self._codec or ("ascii" if self._ascii_only else "utf-8")
        try:
            return text.encode(codec)
        except UnicodeEncodeError as error:
            missing = text[error.start]
        raise RequestError(
            "text_not_encodable",
            f"The file's encoding is {self.name}; {missing!r} (U+{ord(missing):04X}) cannot be written "
            "in it. Nothing was changed. Use other characters, or convert the file to UTF-8 first "
            "(iconv).",
        )


UTF8 = TextEncoding()


def find_encoding(data: bytes, *, is_sample: bool = False) -> TextEncoding | None:
    """The encoding of a text; None for data that are no text. ``is_sample``: the last character may be cut."""
    for mark, codec, name in MARKS:
        if data.startswith(mark) and _is_text(data[len(mark) :], codec, is_sample):
            return TextEncoding(f"{name} with BOM", codec, mark)
    if b"\0" in data[:SAMPLE_BYTES]:
        return _unmarked_utf16(data, is_sample)
    if _has_many_controls(data[:SAMPLE_BYTES]):
        return None
    if data.isascii() or _decodes(data, "utf-8", is_sample):
        return TextEncoding("UTF-8 with BOM", "", UTF8_BOM) if data.startswith(UTF8_BOM) else UTF8
    return _encoding_of_other_bytes(data)


def _decodes(data: bytes, codec: str, is_sample: bool) -> bool:
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder(codec)()
    try:
        for start in range(0, len(data), 1 << 20):  # a huge text never is in memory as a whole
            decoder.decode(data[start : start + (1 << 20)])
        decoder.decode(b"", final=not is_sample)
    except UnicodeDecodeError:
        return False
    return True


def _is_text(data: bytes, codec: str, is_sample: bool) -> bool:
    if not _decodes(data, codec, is_sample):
        return False
    start = data[:SAMPLE_BYTES].decode(codec, "ignore")
    return not any(character in start for character in CONTROL_CHARACTERS)


def _unmarked_utf16(data: bytes, is_sample: bool) -> TextEncoding | None:
    """UTF-16 without a mark, recognized by the zero bytes of its ASCII characters."""
    sample = data[:SAMPLE_BYTES]
    high_bytes, low_bytes = sample[1::2].count(0), sample[::2].count(0)
    zeros = max(high_bytes, low_bytes)
    if zeros < 2 or zeros * 10 < 3 * (len(sample) // 2) or min(high_bytes, low_bytes):
        return None
    codec, name = ("utf-16-le", "UTF-16 LE") if high_bytes else ("utf-16-be", "UTF-16 BE")
    is_text = _is_text(data, codec, is_sample)
    return TextEncoding(f"{name} without BOM", codec) if is_text else None


def _has_many_controls(sample: bytes) -> bool:
    return (len(sample) - len(sample.translate(None, CONTROL_BYTES))) * 10 > len(sample)


def _encoding_of_other_bytes(data: bytes) -> TextEncoding | None:
    """The encoding of data with bytes that are not UTF-8."""
    decodable = data.decode("utf-8", "ignore").encode()
    undecodable = len(data) - len(decodable)
    if undecodable * 10 > 3 * len(data) and undecodable > MAX_UNDECODABLE_BYTES_OF_SHORT_TEXT:
        return None
    if sum(byte > 127 for byte in decodable) > undecodable:
        mark = UTF8_BOM if data.startswith(UTF8_BOM) else b""
        return TextEncoding("UTF-8 with some damaged bytes, shown as �", "", mark)
    if _decodes(data, "cp1252", False):
        return TextEncoding("Windows-1252", "cp1252")
    return TextEncoding("unknown: not UTF-8, its other bytes are shown as �", ascii_only=True)
