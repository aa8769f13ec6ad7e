"""Finds reasoning that a model writes into its text between tags, wherever the stream cuts the tags."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
}
OPENING = re.compile("|".join(map(re.escape, TAGS)))
CLOSING = re.compile("|".join(map(re.escape, TAGS.values())))
FENCES = ("```", "~~~")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the content. ``ends_reasoning``: all text before it was reasoning too."""

    text: str
    is_reasoning: bool = False
    ends_reasoning: bool = False


class ReasoningTags:
    """Splits the content of one reply. Only tags at its beginning count, or a closing tag alone.

    A tag in a sentence or in code is text, and so is one that ends what an opening tag in the text began: a
    person may have asked about the tags. A template may have written the opening tag into the prompt;
    the content then begins with reasoning, and only the closing tag comes.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""  # the tag that ends the reasoning, while inside of it
        self._at_start = True
        self._follows_tag = False  # line feeds after a tag belong to it
        self._may_close_alone = True
        self._line = ""  # the text of the current line before what is held
        self._in_code = False  # between two fences, at the beginning of that line

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are certain now. A possible part of a tag is held back."""
        self._held += text
        return [piece for piece in self._pieces(is_end=False) if piece.text or piece.ends_reasoning]

    def close(self) -> list[Piece]:
        """The rest, at the end of the content."""
        return [piece for piece in self._pieces(is_end=True) if piece.text or piece.ends_reasoning]

    def _pieces(self, *, is_end: bool) -> Iterator[Piece]:
        while self._held:
            if self._follows_tag:
                self._held = self._held.lstrip("\n")
                self._follows_tag = not self._held
            before = (self._held, self._at_start)
            if self._closing:
                yield from self._reasoning(is_end)
            elif self._at_start:
                self._begin(is_end)
            else:
                yield from self._text(is_end)
            # A tag that was opened or closed is followed by text of the other kind.
            if before == (self._held, self._at_start):
                return

    def _begin(self, is_end: bool) -> None:
        """Look for an opening tag after nothing but blanks."""
        start = self._held.lstrip()
        for opening, closing in TAGS.items():
            # guard: engine-reasoning-tags
            if start.startswith(opening):
                self._held, self._closing = start[len(opening) :], closing
                self._may_close_alone, self._follows_tag = False, True
                return
        may_be_tag = not start or any(opening.startswith(start) for opening in TAGS)
        if not may_be_tag or is_end:
            self._at_start = False

    def _reasoning(self, is_end: bool) -> Iterator[Piece]:
        inside, found, after = self._held.partition(self._closing)
        if found:
            self._held, self._closing, self._at_start = after, "", True
            self._follows_tag = True
            yield Piece(inside, is_reasoning=True)
            return
        held = 0 if is_end else _partial_length(self._held, (self._closing,))
        self._held, shown = (
            self._held[len(self._held) - held :],
            self._held[: len(self._held) - held],
        )
        yield Piece(shown, is_reasoning=True)

    def _text(self, is_end: bool) -> Iterator[Piece]:
        if self._may_close_alone and (closing := self._closing_alone(is_end)):
            before, self._held = self._held[: closing.start()], self._held[closing.end() :]
            self._may_close_alone, self._at_start, self._follows_tag = False, True, True
            yield Piece(before, is_reasoning=True, ends_reasoning=True)
            return
        held = 0 if is_end or not self._may_close_alone else self._held_length()
        shown, self._held = (
            self._held[: len(self._held) - held],
            self._held[len(self._held) - held :],
        )
        self._may_close_alone &= OPENING.search(self._line + shown) is None
        self._in_code, self._line = self._place_after(shown)
        yield Piece(shown)

    def _closing_alone(self, is_end: bool) -> re.Match[str] | None:
        """A closing tag without an opening one, at the beginning or the end of a line outside of code."""
        for found in CLOSING.finditer(self._held):
            before = self._held[: found.start()]
            in_code, line = self._place_after(before)
            # guard: engine-tags-in-code
            if in_code or OPENING.search(self._line + before):
                return None
            after = self._held[found.end() : found.end() + 1]
            if "`" not in line and (not line.strip() or after == "\n" or (not after and is_end)):
                return found
        return None

    def _place_after(self, text: str) -> tuple[bool, str]:
        """Whether the line that this text ends in is code, and that line, as far as it is needed."""
        *lines, last = (self._line + text).split("\n")
        fences = sum(line.lstrip().startswith(FENCES) for line in lines)
        return self._in_code ^ bool(fences % 2), last[-2000:]

    def _held_length(self) -> int:
        """The length of the end of the text that may be a closing tag, or a part of one."""
        at_end = [tag for tag in TAGS.values() if self._held.endswith(tag)]
        if at_end:
            return len(at_end[0])
        return _partial_length(self._held, TAGS.values())


def _partial_length(text: str, tags: Iterable[str]) -> int:
    """The length of the end of the text that is the beginning of a tag."""
    longest = 0
    for tag in tags:
        for length in range(min(len(tag) - 1, len(text)), longest, -1):
            if text.endswith(tag[:length]):
                longest = length
                break
    return longest
