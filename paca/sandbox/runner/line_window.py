"""A window on the lines of a text, bounded in lines, characters and the length of each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_LINES = 5000
MOST_CHARACTERS = 65_536
LONGEST_LINE = 4000


def described(path: str, size: int, digest: str, **rest: Any) -> dict[str, Any]:
    """The answer about a file; ``rest`` is what a text adds to it, or a binary's kind."""
    empty = {"text": "", "first": 0, "last": 0, "total": 0, "truncated": False, "binary": ""}
    return {"path": path, "size": size, "digest": digest, **empty, **rest}


def window(data: bytes, first: int, count: int) -> dict[str, Any]:
    """``count`` lines from ``first`` on, as far as there is room."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    taken, room, truncated = [], MOST_CHARACTERS, False
    for line in lines[first - 1 : first - 1 + count]:
        text = line.decode("utf-8", "replace").replace("\0", "␀")
        if len(text) > LONGEST_LINE:
            text = f"{text[:LONGEST_LINE]} [... {len(text) - LONGEST_LINE} more characters]"
            truncated = True
        room -= len(text) + 1
        if room < 0:
            truncated = True
            break
        taken.append(text)
    ends = len(lines) > first - 1 + len(taken) or data.endswith(b"\n")
    text = "\n".join(taken) + ("\n" if taken and ends else "")
    last = first + len(taken) - 1
    return {"text": text, "first": first, "last": last, "total": len(lines), "truncated": truncated}
