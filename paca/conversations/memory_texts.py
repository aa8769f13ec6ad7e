"""The texts of memory entries: one visible line each, with a fingerprint that finds the same text again."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from paca.common.errors import Invalid
from paca.common.text import to_storable
from paca.common.visible_text import has_no_look, visible
from paca.conversations.models.memory import MAX_ENTRY_CHARACTERS

# Parts of words and of emoji, which have no look: two in a row, or one after a letter of ASCII, have no use.
JOINERS = "\u200c\u200d\ufe0f"
EMOJI_SEQUENCE = "\ufe0f\u200d"


def clean(text: str) -> str:
    """The text as one line in which nothing is hidden. Raises ``Invalid`` if it is empty or too long."""
    found = " ".join(visible(to_storable(text)).split())
    found = "".join(map(_shown, f" {found}", found))
    if not found:
        raise Invalid(fields={"text": ["Write what shall be remembered."]})
    if len(found) > MAX_ENTRY_CHARACTERS:
        fact = f"At most {MAX_ENTRY_CHARACTERS} characters; these are {len(found)}."
        raise Invalid(fields={"text": [fact]})
    return found


def fingerprint(text: str) -> str:
    """The same for texts that differ only in case, spaces and marks."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return hashlib.sha256((" ".join(words) or text).encode()).hexdigest()


def _shown(before: str, sign: str) -> str:
    """The sign, or its number if it could hide a text from people."""
    # guard: memory-hides-nothing
    if has_no_look(sign) and not _joins(before, sign):
        return f"‹U+{ord(sign):04X}›"
    return sign


def _joins(before: str, sign: str) -> bool:
    if sign not in JOINERS or before.isascii():
        return False
    # guard: memory-hides-nothing-in-joiners
    return not has_no_look(before) or before + sign == EMOJI_SEQUENCE
