"""Reads one word of a command line as bash does: its quotes, and whether something in it is expanded."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

BLANK = " \t"
ENDS_WORD = frozenset(" \t\n;&|()<>")
JOINS_NO_WORD = frozenset(["", " ", "\t", "\n"])
PARAMETER = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])", re.ASCII)
# Only forms without an index and without arithmetic: those evaluate text, which may hold a command.
BRACED = re.compile(r"\$\{#?[A-Za-z_]\w*(?::?[-+][\w./@:, -]*|[%#]{1,2}[\w./*?-]*)?\}", re.ASCII)
ALONE = re.compile(r"[\[{](?=[ \t\n])|\{\}(?=[ \t\n;&|()<>]|\Z)")


class Unreadable(ValueError):
    """The line has something that is not known for certain. The message says what, after "it has"."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes. ``literal``: nothing in it is expanded. ``splits``: it may become several words."""

    text: str
    literal: bool = True
    splits: bool = False


@dataclass(slots=True)
class WordParts:
    """A word that is being read."""

    text: list[str] = field(default_factory=list)
    literal: bool = True
    splits: bool = False

    def expands(self, text: str, *, splits: bool) -> None:
        """Add what is expanded, as it stands in the line."""
        self.text.append(text)
        self.literal = False
        self.splits = self.splits or splits


class WordReader:
    """Reads words of a text. ``strict_shell`` adds the commands, which words can hold too."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read_nested(self, end: str) -> None:
        """Read the commands up to ``end``. Raises ``Unreadable``."""
        raise NotImplementedError

    def read_within(self, text: str) -> None:
        """Read the commands of another text, which stands in backticks in this one. Raises ``Unreadable``."""
        raise NotImplementedError

    # --- words --------------------------------------------------------------------------------------

    def _at_process(self) -> bool:
        return self._text[self._at : self._at + 2] in ("<(", ">(")

    def _read_word(self) -> Word:
        parts = WordParts()
        if self._at_process():
            self._at += 2
            self.read_nested(")")
            parts.expands("/dev/fd", splits=False)
        while (here := self._here()) and here not in ENDS_WORD:
            self._read_part(here, parts)
        if self._at_process() and parts.text and parts.text[-1] != "/dev/fd":
            raise Unreadable("a substituted process within a word")
        return Word("".join(parts.text), parts.literal, parts.splits)

    def _read_part(self, here: str, parts: WordParts) -> None:
        if here == "\\":
            following = self._text[self._at + 1 : self._at + 2]
            # guard: allowed-commands-joined-lines
            if following == "\n" and self._text[self._at + 2 : self._at + 3] not in JOINS_NO_WORD:
                raise Unreadable("a word that goes on in the next line")
            parts.text.append("" if following == "\n" else following or "\\")
            self._at += 2
        elif here == "'":
            end = self._text.find("'", self._at + 1)
            if end < 0:
                raise Unreadable("a quote that is not closed")
            parts.text.append(self._text[self._at + 1 : end])
            self._at = end + 1
        elif here == '"':
            self._read_double_quotes(parts)
        elif here == "$":
            self._read_dollar(parts, quoted=False)
        elif here == "`":
            self._read_backticks(parts, quoted=False)
        else:
            self._read_plain(here, parts)

    def _read_plain(self, here: str, parts: WordParts) -> None:
        begins = not parts.text
        # A bracket alone is a word, and so is a pair of braces, into which find and xargs put a name.
        alone = begins and ALONE.match(self._text, self._at)
        self._at += 1
        if here in "*?[{" and not alone:
            parts.expands(here, splits=True)
        elif here == "~":
            parts.expands(here, splits=False)
        else:
            parts.text.append(here)

    def _read_double_quotes(self, parts: WordParts) -> None:
        self._at += 1
        parts.text.append("")
        while (here := self._here()) != '"':
            if here == "":
                raise Unreadable("a quote that is not closed")
            if here == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                escaped = following if following and following in '$`"\\' else f"\\{following}"
                if following == "\n" and self._text[self._at - 1] == "$":
                    raise Unreadable("a `$` that goes on in the next line")
                parts.text.append("" if following == "\n" else escaped)
                self._at += 2
            elif here == "$":
                self._read_dollar(parts, quoted=True)
            elif here == "`":
                self._read_backticks(parts, quoted=True)
            else:
                parts.text.append(here)
                self._at += 1
        self._at += 1

    def _read_dollar(self, parts: WordParts, *, quoted: bool) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if following == "(":
            if self._text.startswith("$((", self._at):
                raise Unreadable("arithmetic")
            self._at += 2
            self.read_nested(")")
            parts.expands("$()", splits=not quoted)
        elif following == "[" or (following == "{" and not BRACED.match(self._text, self._at)):
            raise Unreadable(f"`${following}`, which can evaluate text")
        elif match := (BRACED if following == "{" else PARAMETER).match(self._text, self._at):
            # What a parameter holds is split, and its patterns are matched: it can be several words.
            parts.expands(match.group(), splits=not quoted)
            self._at = match.end()
        elif not quoted and following and following in "'\"":
            raise Unreadable("a quote of the form $'...'")
        else:
            parts.text.append("$")
            self._at += 1

    def _read_backticks(self, parts: WordParts, *, quoted: bool) -> None:
        end = self._at + 1
        while self._text[end : end + 1] != "`":
            if end >= len(self._text):
                raise Unreadable("a backtick that is not closed")
            end += 2 if self._text[end] == "\\" else 1
        escaped = r'\\([\\`$"])' if quoted else r"\\([\\`$])"
        text = re.sub(escaped, r"\1", self._text[self._at + 1 : end])
        # guard: allowed-commands-backticks
        self.read_within(text)
        parts.expands("$()", splits=not quoted)
        self._at = end + 1

    # --- characters ---------------------------------------------------------------------------------

    def _here(self) -> str:
        """The character here; empty at the end."""
        return self._text[self._at : self._at + 1]

    def _skip_blanks(self) -> bool:
        """Skip blanks, joined lines and a comment. Always false, so that it can stand in a condition."""
        while True:
            here = self._here()
            if here and here in BLANK:
                self._at += 1
            elif self._text.startswith("\\\n", self._at):
                self._at += 2
            elif here == "#":
                end = self._text.find("\n", self._at)
                self._at = end if end >= 0 else len(self._text)
            else:
                return False
