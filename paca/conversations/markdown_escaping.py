"""Escapes Markdown of people and models for an export: tags are shown as text, images are links.

This is no sanitiser; a viewer of Markdown has its own. It keeps a tag that somebody wrote about from being
read as a tag, which could hide the rest of the text, and keeps a viewer from fetching a foreign image.
"""

import re
from collections.abc import Iterator

# The line ends of Markdown. ``splitlines`` knows more, and would see a fence where a viewer sees text.
LINE_END = re.compile(r"\r\n|\r|\n")
FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
# A code span, the beginning of a tag, or that of an image.
SPAN_TAG_OR_IMAGE = re.compile(
    r"(?<![\\`])(`+)(?!`).+?(?<!`)\1(?!`)|<(?=[A-Za-z/!?])|(?<!!)!++(?=\[)"
)
TAG_OR_IMAGE = re.compile(r"([<!])(?=(?<=<)[A-Za-z/!?]|(?<=!)\[)")


def escape_markdown(text: str) -> str:
    """The text with tags and images escaped outside code blocks, and every fenced block closed at the end."""
    lines: list[str] = []
    for paragraph, fence in _parts(LINE_END.split(text.rstrip())):
        lines += paragraph if fence else _escape_paragraph(paragraph)
        if fence and not (len(paragraph) > 1 and _closes_fence(paragraph[-1], fence)):
            lines.append(fence)
    return "\n".join(lines)


def _parts(lines: list[str]) -> Iterator[tuple[list[str], str]]:
    """Paragraphs, each with an empty fence, and fenced blocks with their fence."""
    part: list[str] = []
    fence = ""
    for line in lines:
        if fence:
            part.append(line)
            if _closes_fence(line, fence):
                yield part, fence
                part, fence = [], ""
        elif found := FENCE.match(line):
            yield part, ""
            part, fence = [line], found[0]
        else:
            part.append(line)
            if not line.strip(" \t"):
                yield part, ""
                part = []
    yield part, fence


def _closes_fence(line: str, fence: str) -> bool:
    """Whether the line ends the fenced block: the same mark at least as often, hardly indented."""
    mark = line.lstrip(" ")  # a tab before it is as wide as four spaces
    is_mark = mark.startswith(fence) and not mark.rstrip(" \t").strip(fence[0])
    return is_mark and len(line) - len(mark) < 4


def _escape_paragraph(lines: list[str]) -> list[str]:
    """Code spans stay as they are, if each line has whole ones only.

    Else a viewer may pair their marks in another way, and see text where we see code.
    """
    escaped = [SPAN_TAG_OR_IMAGE.sub(lambda found: _escape(found[0]), line) for line in lines]
    if all(_has_whole_spans(line) for line in lines):
        return escaped
    return [TAG_OR_IMAGE.sub(r"\1 ", line) for line in escaped]


def _escape(found: str) -> str:
    if found == "<":
        return "&lt;"
    return "" if found.startswith("!") else found


def _has_whole_spans(line: str) -> bool:
    rest = SPAN_TAG_OR_IMAGE.sub(lambda found: "" if found[1] else found[0], line)
    return "`" not in rest
