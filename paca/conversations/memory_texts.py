"""The texts of memory entries: one visible line each, with a fingerprint that finds the same text again."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from paca.common.errors import Invalid
from paca.common.text import to_storable
from paca.common.visible_text import visible
from paca.conversations.models.memory import MAX_ENTRY_CHARACTERS

# Joiners are parts of words and of signs; other format characters have no look, and can hide a text from people.
JOINERS = "\u200c\u200d"


def clean(text: str) -> str:
    """The text as one line in which nothing is hidden. Raises ``Invalid`` if it is empty or too long."""
    found = " ".join(visible(to_storable(text)).split())
    found = "".join(map(_shown, found))
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


def _shown(sign: str) -> str:
    # guard: memory-hides-nothing
    if unicodedata.category(sign) == "Cf" and sign not in JOINERS:
        return f"‹U+{ord(sign):04X}›"
    return sign
