"""Titles of conversations, made from their first message."""

import re
from collections.abc import Iterator

MAX_TITLE_CHARACTERS = 80
MAX_LINE_CHARACTERS = 500  # of a line that is looked at
CODE_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
# Marks at the beginning of a line: headings, quotes, list items with or without a box.
BLOCK_MARKS = re.compile(r"^(?:#{1,6}\s+|>\s*|(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)+")
LINK = re.compile(r"!?\[([^\[\]]*)\]\(([^\s()]*)\)")
# Underscores stay: in a title they belong to a name more often than to emphasis.
EMPHASIS = re.compile(
    r"(\*\*|~~|`+)(?=\S)(.+?)(?<=\S)\1|(?<![\w*])(\*)(?=[^\s*])([^*]+)(?<=\S)\*(?![\w*])"
)


def title_from(text: str) -> str:
    """A title from the text of a message: its first line of words, cut at a word if it is too long.

    Marks of Markdown are left out, and lines in code blocks come last. Empty if the text is nothing
    but marks.
    """
    lines = [line.strip()[:MAX_LINE_CHARACTERS] for line in printable(text).splitlines()]
    shown = [line for line in lines if line and not CODE_FENCE.match(line)]
    candidates = [*_outside_code(lines), *shown]
    title = next((words for line in candidates if (words := _words(line))), next(iter(shown), ""))
    if len(title) <= MAX_TITLE_CHARACTERS:
        return title
    return title[:MAX_TITLE_CHARACTERS].rsplit(" ", 1)[0].rstrip(",.;:") + "…"


def printable(text: str) -> str:
    """The text without control characters and lone surrogates, which no column and no page can hold."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")


def _outside_code(lines: list[str]) -> Iterator[str]:
    fence = ""
    for line in lines:
        mark = CODE_FENCE.match(line)
        if fence:
            fence = "" if mark and mark[0] == line and line.startswith(fence) else fence
        elif mark:
            fence = mark[0]
        else:
            yield line


def _words(line: str) -> str:
    """The line without marks of Markdown; empty if it has no letter or digit."""
    line = BLOCK_MARKS.sub("", line)
    for _ in range(2):  # an image in a link
        line = LINK.sub(lambda link: link[1] or link[2], line)
    line = EMPHASIS.sub(lambda found: found[2] or found[4], line).strip()
    return line if any(char.isalnum() for char in line) else ""
