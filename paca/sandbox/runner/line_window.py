"""Selects lines of a text, limited in number, in characters and in the length of each line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_LINES = 5000
MAX_CHARACTERS = 65_536
MAX_LINE_CHARACTERS = 4000


def file_answer(path: str, size: int, digest: str, **content: Any) -> dict[str, Any]:
    """The answer to ``read_lines``. ``content``: the fields of a text, or ``binary`` for another kind of file."""
    empty = {"text": "", "first": 0, "last": 0, "total": 0, "truncated": False, "binary": ""}
    form = {"encoding": "", "line_ends": ""}
    return {"path": path, "size": size, "digest": digest, **empty, **form, **content}


def line_window(data: bytes, first: int, count: int) -> dict[str, Any]:
    """The fields of a text: ``count`` lines beginning with number ``first`` (from 1), as far as they fit."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    chosen, space, truncated = [], MAX_CHARACTERS, False
    for line in lines[first - 1 : first - 1 + count]:
        text = line.decode("utf-8", "replace").replace("\0", "␀")
        if len(text) > MAX_LINE_CHARACTERS:
            text = f"{text[:MAX_LINE_CHARACTERS]} [... {len(text) - MAX_LINE_CHARACTERS} more characters]"
            truncated = True
        space -= len(text) + 1
        if space < 0:
            truncated = True
            break
        chosen.append(text)
    ends = len(lines) > first - 1 + len(chosen) or data.endswith(b"\n")
    text = "\n".join(chosen) + ("\n" if chosen and ends else "")
    last = first + len(chosen) - 1
    return {"text": text, "first": first, "last": last, "total": len(lines), "truncated": truncated}
