"""Recognises tool calls that a model wrote into its answer instead of making them.

Small models do this. Only what ends the answer counts: in an explanation or a quotation, text goes
on. What stands in a quotation, in an indented block or in a code sample of another language is no
call wherever it stands.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from paca.engine.llm import strict_parsing
from paca.engine.llm.base import StreamBroken

OPENING = re.compile(r"(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[^\s`]*)[ \t]*$")
TAG, END_TAG = "<tool_call>", "</tool_call>"
MEANT = "tool_call"  # a block of this language can be nothing but a call
LANGUAGES = ("", "json", "tool", MEANT)
NAMES = ("name", "tool", "tool_name", "function")
ARGUMENTS = ("arguments", "parameters", "input", "args")


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as the model wrote it."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of an answer: words (``kind`` is ""), a fenced block, or a tag, and its body."""

    start: int
    end: int
    kind: str = ""
    language: str = ""
    body: str = ""
    closed: bool = True

    @property
    def may_be_call(self) -> bool:
        """Whether a call may stand in it, going by what is around it alone."""
        return self.kind == "tag" or (self.kind == "fence" and self.language in LANGUAGES)


def split(text: str, tools: Collection[str]) -> tuple[str, list[WrittenCall]]:
    """The words of an answer, and the calls that end it. ``tools`` are the names there are."""
    calls: list[WrittenCall] = []
    words = len(text)
    for part in _from_the_end(text):
        call = _call(part, tools)
        if call is None:
            break
        calls.insert(0, call)
        words = part.start
    return text[:words].rstrip() if calls else text, calls


def trailing_call(text: str, tools: Collection[str]) -> str | None:
    """The tool whose call ends this text, or None."""
    _, calls = split(text, tools)
    return calls[-1].tool if calls and calls[-1].tool in tools else None


def ends_with_unreadable_call(text: str) -> bool:
    """Whether the answer ends in what was meant as a call and cannot be read as one."""
    last = next(_from_the_end(text), None)
    meant = last is not None and (last.kind == "tag" or last.language == MEANT)
    return meant and last is not None and _call(last, ()) is None


def streamable_length(text: str, tools: Collection[str]) -> int:
    """How much of an answer so far can be shown: all but what may turn out to be calls at its end."""
    shown = len(text)
    for part in _from_the_end(text):
        growing = part.may_be_call and not part.closed
        if not growing and _call(part, tools) is None:
            break
        shown = part.start
    return shown if shown < len(text) else len(text) - _beginning_of_a_mark(text)


def _from_the_end(text: str) -> Iterator[Part]:
    """The parts from the last on, without what is blank."""
    return (p for p in reversed(list(parts(text))) if p.kind or text[p.start : p.end].strip())


def parts(text: str) -> Iterator[Part]:
    """The answer taken apart, line by line; a block that is still open reaches to the end."""
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
    """A tag at any place of a line, unless the line is a quotation or the tag stands in code."""
    place = line.find(TAG)
    before = line[:place]
    if place < 0 or before.count("`") % 2 or re.match(r" {4}|\t|[ ]{0,3}>", line):
        return None
    start = at + place
    close = text.find(END_TAG, start)
    if close < 0:
        return Part(start, len(text), "tag", body=text[start + len(TAG) :], closed=False)
    return Part(start, close + len(END_TAG), "tag", body=text[start + len(TAG) : close])


def _call(part: Part, tools: Collection[str]) -> WrittenCall | None:
    """The call in this part. Where other JSON may stand too, it must be of a tool there is."""
    if not part.may_be_call or not part.closed:
        return None
    try:
        found = strict_parsing.arguments(part.body, MEANT)
    except StreamBroken:
        return None
    name = next((found[key] for key in NAMES if isinstance(found.get(key), str)), "")
    arguments = next((found[key] for key in ARGUMENTS if isinstance(found.get(key), dict)), None)
    meant = part.kind == "tag" or part.language == MEANT
    if not name or arguments is None or not (meant or name in tools):
        return None
    return WrittenCall(name, arguments)


def _beginning_of_a_mark(text: str) -> int:
    """The length of an end that may grow into the mark of a call."""
    line = text[text.rfind("\n") + 1 :]
    if OPENING.match(line) or (line and line.strip("`") == "") or (line and line.strip("~") == ""):
        return len(line)
    lengths = range(min(len(TAG), len(line)), 0, -1)
    return next((n for n in lengths if TAG.startswith(line[-n:])), 0)
