"""Text of others as a terminal may print it: nothing in it can move the cursor, hide or reorder letters.

The same rule as ``visible`` of the pages (``core/terminal.js``).
"""

import re
import unicodedata

from paca.common.text import to_encodable

# Sequences: CSI (colours, cursor), OSC (titles, links) up to its end, and short ones.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Characters that change the direction of text or break a line where a terminal does not expect it.
_INVISIBLE = re.compile("[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
# Signs without a look that Unicode does not count among the format characters: variation selectors, fillers, blanks.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def visible(text: str) -> str:
    """The text with a sign for each control character; line breaks and tabs stay.

    Each character is looked at alone, so pieces of a streamed text give the same as the whole of it.
    """
    shown = _CONTROL.sub(_symbol, to_encodable(text.replace("\r\n", "\n")))
    return _INVISIBLE.sub(lambda found: f"‹U+{ord(found[0]):04X}›", shown)


def has_no_look(sign: str) -> bool:
    """Whether people cannot see this character, and a model reads it."""
    return unicodedata.category(sign) == "Cf" or _BLANK.match(sign) is not None


def readable(output: str) -> str:
    """The output of a program without its colours and cursor movements."""
    return visible(_ESCAPES.sub("", output))


def one_line(text: str, limit: int) -> str:
    """The first line that is not blank, made visible and at most so many characters long."""
    lines = [line.strip() for line in readable(text).splitlines() if line.strip()]
    first = lines[0].replace("\t", " ") if lines else ""
    return f"{first[: limit - 2].rstrip()} …" if len(first) > limit or len(lines) > 1 else first


def _symbol(found: re.Match[str]) -> str:
    sign = found[0]
    return chr(0x2400 + ord(sign)) if sign < " " else "\ufffd"
