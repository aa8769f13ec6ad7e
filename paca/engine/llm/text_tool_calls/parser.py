"""Finds tool calls that a model wrote into its text, as small models do.

Only a call at the end of the answer counts: after a call in an explanation, the text goes on. A
call in a quotation, in an indented block or in code of another language never counts.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from paca.engine.llm import strict_parsing

OPENING = re.compile(r"(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[^\s`]*)[ \t]*$")
TAG, END_TAG = "<tool_call>", "</tool_call>"
CALL_LANGUAGE = "tool_call"  # a block of this language is always a call
LANGUAGES = ("", "json", "tool", CALL_LANGUAGE)
NAME_KEYS = ("name", "tool", "tool_name", "function")
ARGUMENT_KEYS = ("arguments", "parameters", "input", "args")


@dataclass(frozen=True, slots=True)
class TextCall:
    """A tool call as the model wrote it."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an answer from ``start`` to ``end``. ``kind`` is "" for text, "fence" or "tag".

    ``body`` is the content of a fenced block or a tag; ``closed``: its end mark was found.
    """

    start: int
    end: int
    kind: str = ""
    language: str = ""
    body: str = ""
    closed: bool = True

    @property
    def may_be_call(self) -> bool:
        """Whether the part may contain a call, judged by its marks alone."""
        return self.kind == "tag" or (self.kind == "fence" and self.language in LANGUAGES)


def split_calls(text: str, tools: Collection[str]) -> tuple[str, list[TextCall]]:
    """The text of an answer without the calls at its end, and these calls.

    ``tools`` are the names of the known tools.
    """
    calls: list[TextCall] = []
    text_end = len(text)
    for part in _parts_from_end(text):
        call = _call(part, tools)
        if call is None:
            break
        calls.insert(0, call)
        text_end = part.start
    return text[:text_end].rstrip() if calls else text, calls


def trailing_call(text: str, tools: Collection[str]) -> str | None:
    """The name of the known tool whose call ends this text, or None."""
    _, calls = split_calls(text, tools)
    return calls[-1].tool if calls and calls[-1].tool in tools else None


def ends_with_unreadable_call(text: str) -> bool:
    """Whether the answer ends with a block or tag for a call that cannot be parsed."""
    last = next(_parts_from_end(text), None)
    meant = last is not None and (last.kind == "tag" or last.language == CALL_LANGUAGE)
    return meant and last is not None and _call(last, ()) is None


def streamable_length(text: str, tools: Collection[str]) -> int:
    """The number of characters of an unfinished answer that can be shown.

    The rest may turn out to be calls at the end of the answer.
    """
    shown = len(text)
    for part in _parts_from_end(text):
        unfinished = part.may_be_call and not part.closed
        if not unfinished and _call(part, tools) is None:
            break
        shown = part.start
    return shown if shown < len(text) else len(text) - _partial_mark_length(text)


def _parts_from_end(text: str) -> Iterator[Part]:
    """The parts from the last to the first, without blank ones."""
    return (p for p in reversed(list(parts(text))) if p.kind or text[p.start : p.end].strip())


def parts(text: str) -> Iterator[Part]:
    """The parts of the answer in order. A block without an end mark reaches to the end."""
    at = words = 0
    while at < len(text):
        end = text.find("\n", at)
        line = text[at : len(text) if end < 0 else end]
        block = _fence(text, at, line) or _tag(text, at, line)
        if block is None:
            at += len(line) + 1
            continue
        if words < block.start:
            yield Part(words, block.start)
        yield block
        at = words = block.end
    if words < len(text):
        yield Part(words, len(text))


def _fence(text: str, at: int, line: str) -> Part | None:
    opening = OPENING.match(line)
    if opening is None:
        return None
    body_at = at + len(line) + 1
    marks = opening["marks"]
    close = re.compile(rf"^{re.escape(marks[0])}{{{len(marks)},}}[ \t]*$", re.M)
    closing = close.search(text, min(body_at, len(text)))
    if closing is None:
        return Part(at, len(text), "fence", opening["language"], text[body_at:], closed=False)
    body = text[body_at : closing.start()]
    return Part(at, closing.end(), "fence", opening["language"], body)


def _tag(text: str, at: int, line: str) -> Part | None:
    """The tag that begins in this line, unless the line is quoted or the tag is inside of code."""
    place = line.find(TAG)
    before = line[:place]
    if place < 0 or before.count("`") % 2 or re.match(r" {4}|\t|[ ]{0,3}>", line):
        return None
    start = at + place
    close = text.find(END_TAG, start)
    if close < 0:
        return Part(start, len(text), "tag", body=text[start + len(TAG) :], closed=False)
    return Part(start, close + len(END_TAG), "tag", body=text[start + len(TAG) : close])


def _call(part: Part, tools: Collection[str]) -> TextCall | None:
    """The call in this part, or None. In a block of plain JSON, the name must be that of a known tool."""
    if not part.may_be_call or not part.closed:
        return None
    try:
        found = strict_parsing.arguments(part.body)
    except strict_parsing.UnusableArguments:
        return None
    name = next((found[key] for key in NAME_KEYS if isinstance(found.get(key), str)), "")
    arguments = next(
        (found[key] for key in ARGUMENT_KEYS if isinstance(found.get(key), dict)), None
    )
    meant = part.kind == "tag" or part.language == CALL_LANGUAGE
    if not name or arguments is None or not (meant or name in tools):
        return None
    return TextCall(name, arguments)


def _partial_mark_length(text: str) -> int:
    """The length of the end of the text that may be the beginning of a mark."""
    line = text[text.rfind("\n") + 1 :]
    if OPENING.match(line) or (line and line.strip("`") == "") or (line and line.strip("~") == ""):
        return len(line)
    lengths = range(min(len(TAG), len(line)), 0, -1)
    return next((n for n in lengths if TAG.startswith(line[-n:])), 0)
