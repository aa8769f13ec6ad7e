"""Reads a command line of bash to the end, or refuses it: every command that it would start is found.

``shell_commands`` finds what it can and marks the rest. This reader is for lists of allowed commands: what it does
not know for certain it refuses, such as functions, arrays and arithmetic. It runs and expands nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paca.engine.approvals.shell_commands import MAX_CHARACTERS
from paca.engine.approvals.shell_variables import SHELL_VARIABLE
from paca.engine.approvals.shell_words import ENDS_WORD, Unreadable, Word, WordParts, WordReader

MAX_NESTING = 12
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)
DESCRIPTOR = re.compile(r"\d+", re.ASCII)
MAX_DESCRIPTOR_DIGITS = 1
REDIRECTION = re.compile(r"&>>|&>|<<<|<<-|<<|<>|<&|<|>>|>\||>&|>")
SEPARATOR = re.compile(r"&&|\|\||\|&|[|;&]")
SKIPPED_WORDS = frozenset(
    ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}"]
)
REFUSED_WORDS = frozenset(["case", "esac", "select", "function", "coproc", "[[", "]]"])


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command, and the names of the variables that are set before it."""

    words: tuple[Word, ...]
    assigns: tuple[str, ...] = ()


def read_commands(text: str, *, nesting: int = 0) -> list[SimpleCommand]:
    """All commands of a command line, those of substitutions and groups included. Raises ``Unreadable``."""
    if len(text) > MAX_CHARACTERS or "\0" in text:
        raise Unreadable("too many characters, or one that no text has")
    reader = _Reader(text, nesting)
    reader.read_list(end="")
    return reader.found


class _Reader(WordReader):
    """Reads one text. ``found`` are its commands in the order in which they end."""

    def __init__(self, text: str, nesting: int) -> None:
        if nesting > MAX_NESTING:
            raise Unreadable("too many commands within commands")
        super().__init__(text)
        self._nesting = nesting
        self.found: list[SimpleCommand] = []
        self._documents: list[tuple[str, bool, bool]] = []  # delimiter, quoted, with tabs removed

    # --- lists --------------------------------------------------------------------------------------

    def read_list(self, end: str) -> None:
        """Read commands up to the closing ``end``, or to the end of the text. Raises ``Unreadable``."""
        while True:
            self._skip_blanks()
            if self._here() == end:
                break
            self._read_next()
        # guard: allowed-commands-here-documents
        if self._documents:
            raise Unreadable("a here-document that does not end")
        self._at += len(end)

    def _read_next(self) -> None:
        here = self._here()
        if here in ("", ")"):
            raise Unreadable("a bracket without its other one")
        if here == "\n":
            self._at += 1
            self._read_documents()
        elif match := self._separator():
            self._at = match.end()
        elif here == "(":
            self._read_group()
        else:
            self._read_command()

    def _separator(self) -> re.Match[str] | None:
        if REDIRECTION.match(self._text, self._at):
            return None  # &> is no &
        return SEPARATOR.match(self._text, self._at)

    def _read_group(self) -> None:
        if self._text.startswith("((", self._at):
            raise Unreadable("arithmetic")
        self._at += 1
        self.read_nested(")")

    def read_nested(self, end: str) -> None:
        """Read a list inside of this one. Raises ``Unreadable``.

        A here-document that waits for its text would be read in there.
        """
        if self._documents:
            raise Unreadable("a here-document before other commands")
        if self._nesting >= MAX_NESTING:
            raise Unreadable("too many commands within commands")
        self._nesting += 1
        self.read_list(end)
        self._nesting -= 1

    def read_within(self, text: str) -> None:
        """Read the commands of another text, which stands in backticks in this one. Raises ``Unreadable``."""
        self.found += read_commands(text, nesting=self._nesting + 1)

    # --- commands -----------------------------------------------------------------------------------

    def _read_command(self) -> None:
        words: list[Word] = []
        assigns: list[str] = []
        while not self._at_end_of_command():
            if self._read_redirection():
                continue
            if not words and (match := ASSIGNMENT.match(self._text, self._at)):
                assigns.append(match[1])
                self._read_word()
                self._refuse_bracket()
                continue
            start = self._at
            word = self._read_word()
            plain = self._text[start : self._at] == word.text
            if plain and self._is_descriptor(word.text):
                continue
            self._refuse_bracket()
            if plain and not words and not assigns and self._read_keyword(word.text):
                continue
            words.append(word)
        if words or assigns:
            self.found.append(SimpleCommand(tuple(words), tuple(assigns)))

    def _is_descriptor(self, word: str) -> bool:
        """Whether the word that ends here is the number of a descriptor, and so no argument."""
        if not DESCRIPTOR.fullmatch(word) or not REDIRECTION.match(self._text, self._at):
            return False
        # guard: allowed-commands-large-descriptors
        if len(word) > MAX_DESCRIPTOR_DIGITS:
            raise Unreadable("a number before a redirection")  # the shell takes it as an argument
        return True

    def _at_end_of_command(self) -> bool:
        self._skip_blanks()
        here = self._here()
        if here in ("", "\n", ")"):
            return True
        if here == "(":
            raise Unreadable("a function, or brackets after a word")
        return self._separator() is not None

    def _refuse_bracket(self) -> None:
        """A bracket right behind a word makes a function or an array of it."""
        if self._here() == "(":
            raise Unreadable("a function or an array")

    def _read_keyword(self, word: str) -> bool:
        """Whether a command may begin behind this word."""
        if word in REFUSED_WORDS:
            raise Unreadable(f"`{word}`")
        if word == "for":
            self._read_for()
        elif word == "time":
            self._skip_blanks()
            if re.compile(r"-p(?=[ \t])").match(self._text, self._at):
                self._read_word()
        elif word not in SKIPPED_WORDS:
            return False
        return True

    def _read_for(self) -> None:
        self._skip_blanks()
        name = self._read_word() if self._here() not in ENDS_WORD else Word("")
        if not name.literal or not SHELL_VARIABLE.fullmatch(name.text):
            raise Unreadable("a `for` without a plain name in small letters")
        while self._skip_blanks() or self._here() == "\n":
            self._at += 1
        if not re.compile(r"in(?=[ \t\n;])").match(self._text, self._at):
            return
        self._at += len("in")
        while not self._at_end_of_command():
            if self._here() in ENDS_WORD:
                raise Unreadable("a redirection in a `for`")
            self._read_word()

    # --- redirections -------------------------------------------------------------------------------

    def _read_redirection(self) -> bool:
        """Whether a redirection or a substituted process was here, which is read then."""
        match = REDIRECTION.match(self._text, self._at)
        if match is None or self._at_process():
            return False
        self._at = match.end()
        # The shell joins the lines first, so that the operator may be a longer one.
        if self._text.startswith("\\\n", self._at):
            raise Unreadable("an operator that goes on in the next line")
        self._skip_blanks()
        if self._here() in ENDS_WORD and not self._at_process():
            raise Unreadable("a redirection to nothing")
        start = self._at
        target = self._read_word()
        self._refuse_bracket()
        # Bash expands such a word a second time, also what is quoted in it.
        # guard: allowed-commands-copied-descriptors
        if match.group() in (">&", "<&") and not re.fullmatch(r"\d?-?", target.text, re.ASCII):
            raise Unreadable("a `>&` to something else than a descriptor")
        if match.group() in ("<<", "<<-"):
            if not target.literal:
                raise Unreadable("a here-document whose end is not plain text")
            raw = self._text[start : self._at]
            if "\n" in raw:
                raise Unreadable("a here-document whose end is not plain text")
            quoted = raw != target.text
            self._documents.append((target.text, quoted, match.group() == "<<-"))
        return True

    def _read_documents(self) -> None:
        """Read the texts of the here-documents that the line before has begun."""
        documents, self._documents = self._documents, []
        for delimiter, quoted, tabs in documents:
            lines: list[str] = []
            while True:
                end = self._text.find("\n", self._at)
                line = self._text[self._at : end if end >= 0 else len(self._text)]
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    self._at = end + 1 if end >= 0 else len(self._text)
                    break
                if end < 0:
                    raise Unreadable("a here-document that does not end")
                lines.append(line)
                self._at = end + 1
            if not quoted:
                self._read_document(lines)

    def _read_document(self, lines: list[str]) -> None:
        """The commands that the shell substitutes in a here-document."""
        if any(line.endswith("\\") for line in lines):
            raise Unreadable("a here-document with a joined line")
        inner = _Reader("\n".join(lines), self._nesting + 1)
        inner.read_expansions()
        self.found += inner.found

    def read_expansions(self) -> None:
        """Read what is substituted in the whole text, whose quotes mean nothing. Raises ``Unreadable``."""
        parts = WordParts()
        while here := self._here():
            if here == "\\":
                self._at += 2
            elif here == "$":
                self._read_dollar(parts, quoted=True)
            elif here == "`":
                self._read_backticks(parts, quoted=True)
            else:
                self._at += 1
