"""Finds API tokens and sign-in links of Paca by their shape: only their hashes are stored, so no list has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from paca.common.secret_forms import base64_forms

# Each begins with what a person sees of it, and goes on with at least so many characters of a random text.
BEGINNINGS = ("paca_", "/link/", "/join/")
LEAST, MOST = 40, 64
LONGEST = 2 * MOST + 16  # characters, in hex


def _forms() -> Iterator[tuple[str, str]]:
    """What stands before the random text in each form, and a pattern for what follows."""
    for beginning in BEGINNINGS:
        for before in {beginning, beginning.replace("/", "\\/"), quote(beginning, safe="")}:
            yield before, rf"[\w-]{{{LEAST},{MOST}}}"
        yield quote(beginning, safe="").lower(), rf"[\w-]{{{LEAST},{MOST}}}"
        for digits in (beginning.encode().hex(), beginning.encode().hex().upper()):
            yield digits, f"[0-9a-fA-F]{{{2 * LEAST},{2 * MOST}}}"
        for before in base64_forms(beginning.encode()):
            yield before, rf"[\w+/-]{{{LEAST * 4 // 3},{MOST * 4 // 3 + 2}}}"


_FOLLOWS = dict(_forms())
FIRST_PARTS = tuple(sorted(_FOLLOWS))
_WHOLE = re.compile(
    "|".join(f"{re.escape(part)}{follows}" for part, follows in _FOLLOWS.items()), re.ASCII
)
_OPEN = re.compile(f"(?:{'|'.join(map(re.escape, FIRST_PARTS))})[\\w+/-]*\\Z", re.ASCII)


def find(text: str) -> list[tuple[int, int]]:
    """Where tokens and links stand in the text, in order."""
    # Nearly no text has one of them, and this is known sooner than by the pattern: most are names and numbers.
    if len(text) < LEAST or not any(part in text for part in FIRST_PARTS):
        return []
    return [found.span() for found in _WHOLE.finditer(text)]


def find_open(text: str) -> int:
    """Where a token or link begins at the end of the text that may go on; the text's length if none does."""
    least = max(0, len(text) - LONGEST)
    found = _OPEN.search(text, least)
    if found and len(text) - found.start() < LONGEST:
        return found.start()
    longest = max(map(len, FIRST_PARTS))
    for at in range(max(0, len(text) - longest + 1), len(text)):
        if any(part.startswith(text[at:]) for part in FIRST_PARTS):
            return at
    return len(text)
