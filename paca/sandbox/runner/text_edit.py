"""Edits the content of a text file and keeps its encoding, its byte order mark and its line ends."""

from __future__ import annotations

from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.file_type import binary_kind
from paca.sandbox.runner.text_encoding import SAMPLE_BYTES, UTF8, TextEncoding, find_encoding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CRLF, CR, LF = b"\r\n", b"\r", b"\n"
LINE_ENDS = {"CRLF": CRLF, "CR": CR}


class TextContent:
    """The text of a file: its lines as UTF-8, and the form in which they are stored.

    ``line_ends``: CRLF, CR or mixed; empty if all lines end with LF.
    """

    def __init__(self, data: bytes) -> None:
        # A file whose first bytes are text may contain anything after them.
        self.encoding: TextEncoding = find_encoding(data) or UTF8
        self.body = self.encoding.to_utf8(data)
        self.line_ends = _line_ends(self.body)

    def lines(self) -> bytes:
        """The text in which each line ends with LF, or with CRLF where the file has it."""
        return self.body.replace(CR, LF) if self.line_ends == "CR" else self.body


def describe_form(data: bytes) -> dict[str, str]:
    """The name of the encoding and the line ends of a text; of binary data both are empty."""
    if binary_kind(data[:SAMPLE_BYTES]):
        return {"encoding": "", "line_ends": ""}
    content = TextContent(data)
    return {"encoding": content.encoding.name, "line_ends": content.line_ends}


def to_comparable(data: bytes) -> str | None:
    """The text of a file as a diff compares it; None for binary data."""
    if binary_kind(data[:SAMPLE_BYTES]):
        return None
    return TextContent(data).lines().decode("utf-8", "replace")


def rewrite_text(before: bytes | None, text: bytes) -> bytes:
    """The new content of a file that held ``before``, in the same form. ``text`` is UTF-8.

    Raises ``RequestError`` if the encoding of the file lacks a character of the text.
    """
    if not before or binary_kind(before[:SAMPLE_BYTES]):
        return text
    content = TextContent(before)
    if end := LINE_ENDS.get(content.line_ends):
        text = text.replace(CRLF, LF).replace(LF, end)
    content.encoding.encode(text.decode())
    return content.encoding.from_utf8(text.removeprefix("\ufeff".encode()))


def replace_text(data: bytes, old: str, new: str, *, every: bool) -> bytes:
    """The content with ``old`` replaced, which occurs once unless ``every`` is set.

    A line break in ``old`` is found whatever the line end of the file is. New lines end as their
    neighbours do, and each byte that ``old`` and ``new`` have in common stays as it is. If they differ
    in nothing but line ends, these are replaced literally. Raises ``RequestError`` if ``old`` does not
    occur, or occurs more than once, or the encoding of the file lacks a character of ``new``.
    """
    if not old:
        raise RequestError("no_such_text", "The text to replace is empty.")
    if binary_kind(data[:SAMPLE_BYTES]):
        return _replace_literally(data, _utf8(old), _utf8(new), every=every)
    content = TextContent(data)
    # guard: runner-text-encoding
    content.encoding.encode(new)  # else a file of unknown encoding would get UTF-8
    wanted, replacement = (_utf8(text).replace(CRLF, LF) for text in (old, new))
    if wanted == replacement:
        body = _replace_literally(content.body, _utf8(old), _utf8(new), every=every)
    else:
        body = _replace_lines(content.lines(), wanted, replacement, every=every)
        if content.line_ends == "CR":
            body = body.replace(LF, CR)
    return content.encoding.from_utf8(body)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _line_ends(body: bytes) -> str:
    crlf = body.count(CRLF)
    lf = body.count(LF) - crlf
    if crlf:
        return "mixed" if lf else "CRLF"
    return "CR" if not lf and CR in body else ""


def _require_once(times: int, *, every: bool) -> None:
    if times == 0:
        raise RequestError("no_such_text")
    if times > 1 and not every:
        raise RequestError(
            "text_not_unique", f"The text occurs {times} times; give more of its surroundings."
        )


def _replace_literally(data: bytes, old: bytes, new: bytes, *, every: bool) -> bytes:
    _require_once(data.count(old), every=every)
    return data.replace(old, new)


def _replace_lines(body: bytes, old: bytes, new: bytes, *, every: bool) -> bytes:
    """The body with ``old`` replaced, which matches CRLF with LF."""
    plain = body.replace(CRLF, LF)
    _require_once(plain.count(old), every=every)
    if len(plain) == len(body):
        return plain.replace(old, new)
    head = _common_length(old, new)
    tail = _common_length(old[head:][::-1], new[head:][::-1])
    added = new[head : len(new) - tail]
    position = _positions_with_crlf(body)
    pieces, done = [], 0
    for start in _occurrences(plain, old):
        first, last = position(start + head), position(start + len(old) - tail)
        pieces += [body[done:first], added.replace(LF, _end_near(body, first, last))]
        done = last
    return b"".join([*pieces, body[done:]])


def _common_length(left: bytes, right: bytes) -> int:
    """The number of bytes with which both begin."""
    from os.path import commonprefix

    return len(commonprefix([left, right]))


def _occurrences(plain: bytes, old: bytes) -> Iterator[int]:
    at = plain.find(old)
    while at >= 0:
        yield at
        at = plain.find(old, at + len(old))


def _positions_with_crlf(body: bytes) -> Callable[[int], int]:
    """Gives the position in ``body`` for one in the same text without the CR of each CRLF."""
    from bisect import bisect_left

    ends: list[int] = []
    at = body.find(CRLF)
    while at >= 0:
        ends.append(at - len(ends))
        at = body.find(CRLF, at + 2)
    return lambda plain: plain + bisect_left(ends, plain)


def _end_near(body: bytes, first: int, last: int) -> bytes:
    """The line end of what is replaced, else of the line after it, else of the line before it."""
    at = body.find(LF, first)
    if at < 0:
        at = body.rfind(LF, 0, last)
    return CRLF if body[at - 1 : at] == CR else LF
