"""Splits a command line of a shell into its commands, without running or expanding anything.

It is no shell: what it cannot split for certain is marked, and the rules then ask a person. It finds commands
inside substitutions, groups and command strings of other shells too, so that rules see them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

MAX_DEPTH = 5
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
# Words that begin a command inside a compound one.
KEYWORDS = frozenset(
    ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "time", "fi", "done"]
)
# Programs that run the command in their own arguments, and their options that take a value.
WRAPPERS: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g", "-C", "-h", "-p"}),
    "doas": frozenset({"-u", "-C"}),
    "env": frozenset({"-u", "-C", "-S"}),
    "nice": frozenset({"-n"}),
    "timeout": frozenset({"-s", "-k"}),
    "xargs": frozenset({"-I", "-n", "-P", "-d", "-L", "-a", "-s"}),
    "nohup": frozenset(),
    "exec": frozenset({"-a"}),
    "command": frozenset(),
    "builtin": frozenset(),
    "setsid": frozenset(),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "busybox": frozenset(),
}
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
MAX_CHARACTERS = 100_000  # what comes after them is not read
DELIMITER = re.compile(r"[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
TOKEN = re.compile(
    r"""
    (?P<blank>(?:[ \t]|\\\n)+)
  | (?P<comment>(?:(?<=[\s;&|()])|\A)\#[^\n]*)
  | (?P<redirect>\d*(?:&>>|&>|>>|>\||>&|<&|<<<|<<-?|<>|<(?!\()|>(?!\()))
  | (?P<operator>&&|\|\||\|&|\||;;|;|\n)
  | (?P<structure>\$\(|<\(|>\(|`|\(|\)|&)
  | (?P<single>'[^']*')
  | (?P<double>"(?:[^"\\]|\\.)*")
  | (?P<escape>\\.)
  | (?P<variable>\$\{[A-Za-z_]\w*\}|\$\w+|\$[?\#*@!$-])
  | (?P<plain>[^\s;&|()<>`'"\\$\#]+|\#)
  | (?P<unreadable>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command: its words without quotes, and the files that it writes to by redirection.

    ``pipes_into`` is the program that reads its output, else empty. ``reads_from`` is the program whose output
    it reads. ``moved``: an earlier command has changed the folder. ``wrapped_by`` are programs such as sudo.
    """

    words: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    assigns: bool = False
    pipes_into: str = ""
    reads_from: str = ""
    moved: bool = False
    wrapped_by: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The name of the program without its folder; empty if there is none."""
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[1:]

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are no options."""
        return tuple(word for word in self.arguments if not word.startswith("-"))

    def has_option(self, letters: str = "", *names: str) -> bool:
        """Whether it has an option: one of the ``letters``, also within ``-rf``, or one of the long ``names``,
        which programs also take shortened."""
        return any(
            _is_shortened(word.partition("=")[0], names)
            if word.startswith("--")
            else word.startswith("-") and bool(set(word[1:]) & set(letters))
            for word in self.arguments
        )


def _is_shortened(word: str, names: tuple[str, ...]) -> bool:
    return len(word) > len("--") and any(name.startswith(word) for name in names)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The commands of a command line in their order. ``is_certain``: it has nothing else."""

    commands: tuple[ShellCommand, ...]
    is_certain: bool


def split(text: str, *, depth: int = 0) -> CommandLine:
    """Split a command line into its commands, as far as that is possible."""
    reader = _Reader(depth, is_certain=len(text) <= MAX_CHARACTERS)
    text = text[:MAX_CHARACTERS]
    bodies: list[str] = []
    position, delimiter = 0, ""
    while match := TOKEN.match(text, position):
        position, found = match.end(), match.group()
        reader.read(str(match.lastgroup), found)
        if found in ("<<", "<<-") and (named := DELIMITER.match(text, position)):
            delimiter = named[2]
        elif found == "\n" and delimiter:
            body, position = _here_document(text, position, delimiter)
            if _opens_a_shell(text, match.start()):
                bodies.append(body)
            delimiter = ""
    line = reader.finish()
    if not bodies or depth >= MAX_DEPTH:
        return line
    inner = split("\n".join(bodies), depth=depth + 1)
    return CommandLine((*line.commands, *inner.commands), is_certain=False)


def _here_document(text: str, start: int, delimiter: str) -> tuple[str, int]:
    """The body of the here-document that begins at ``start``, and the place after its last line."""
    last = re.compile(rf"^[ \t]*{delimiter}[ \t]*$", re.MULTILINE).search(text, start)
    return (text[start : last.start()], last.end()) if last else (text[start:], len(text))


def _opens_a_shell(text: str, end: int) -> bool:
    """Whether the line that ends here names a shell, which then reads the here-document as commands."""
    line = text[text.rfind("\n", 0, end) + 1 : end]
    return bool(SHELLS & set(re.findall(r"\w+", line)))


@dataclass(slots=True)
class _Reader:
    """Reads token after token. ``expects`` is the redirection whose target comes next."""

    depth: int
    is_certain: bool = True
    word: str | None = None
    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    expects: str = ""
    reads_from: str = ""
    moved: bool = False
    found: list[ShellCommand] = field(default_factory=list)

    def read(self, kind: str, token: str) -> None:
        match kind:
            case "blank" | "comment":
                self._end_word()
            case "redirect":
                self._redirect(token)
            case "operator":
                self._end_command(piped=token in ("|", "|&"))
            case "structure" | "unreadable":
                self.is_certain = False
                self._end_command(piped=False)
            case _:
                self._extend_word(kind, token)

    def finish(self) -> CommandLine:
        """The commands, with those that run inside of others."""
        self._end_command(piped=False)
        opened: list[ShellCommand] = []
        for command in self.found:
            opened += self._open(command)
        return CommandLine(tuple(opened), self.is_certain)

    def _extend_word(self, kind: str, token: str) -> None:
        text = token
        if kind == "single":
            text = token[1:-1]
        elif kind == "double":
            text = re.sub(r'\\([$`"\\\n])', r"\1", token[1:-1])
            if "`" in token or "$(" in token:
                self._read_inner(token[1:-1])
        elif kind == "escape":
            text = token[1:]
        self.word = (self.word or "") + text

    def _read_inner(self, text: str) -> None:
        """Read the commands that are substituted within a word."""
        self.is_certain = False
        if self.depth < MAX_DEPTH:
            substituted = re.split(r"\$\(|`", text)[1:]
            for part in substituted:
                self.found += split(part.replace(")", " ; "), depth=self.depth + 1).commands

    def _redirect(self, token: str) -> None:
        self._end_word()
        self.expects = token.lstrip("0123456789")

    def _end_word(self) -> None:
        word, self.word = self.word, None
        if word is None:
            return
        operator, self.expects = self.expects, ""
        if not operator:
            self.words.append(word)
        elif operator.startswith("<<"):
            self.is_certain = False
        elif (">" in operator and not word.isdigit()) and word not in ("-", "/dev/null"):
            self.writes.append(word)

    def _end_command(self, *, piped: bool) -> None:
        self._end_word()
        words = list(self.words)
        while words and words[0] in KEYWORDS:
            words.pop(0)
        assigns = False
        while words and ASSIGNMENT.match(words[0]):
            assigns = True
            words.pop(0)
        command = ShellCommand(
            tuple(words), tuple(self.writes), assigns, "", self.reads_from, self.moved
        )
        program = _unwrap(command).program
        if self.reads_from and self.found:
            self.found[-1] = replace(self.found[-1], pipes_into=program)
        if words or self.writes or assigns:
            self.found.append(command)
        self.moved = self.moved or command.program in ("cd", "pushd")
        self.reads_from = program if piped else ""
        self.words, self.writes, self.expects = [], [], ""

    def _open(self, command: ShellCommand) -> list[ShellCommand]:
        """The command, unwrapped; and the commands that it gives to a shell as text."""
        command = _unwrap(command)
        texts: list[str] = []
        if command.program in SHELLS and command.has_option("c"):
            texts = list(command.operands[:1])
        elif command.program == "eval":
            texts = [" ".join(command.arguments)]
        if not texts or self.depth >= MAX_DEPTH:
            return [command]
        self.is_certain = False
        inner = [split(text, depth=self.depth + 1).commands for text in texts]
        return [command, *(replace(each, moved=command.moved) for each in inner[0])]


def _unwrap(command: ShellCommand) -> ShellCommand:
    """The command that sudo, env, timeout and their like run."""
    while (options := WRAPPERS.get(command.program)) is not None:
        wrapper, rest = command.program, list(command.arguments)
        assigns = command.assigns
        while rest and (rest[0].startswith("-") or ASSIGNMENT.match(rest[0])):
            assigns = assigns or not rest[0].startswith("-")
            option = rest.pop(0)
            if option in options and rest:
                rest.pop(0)
        if wrapper == "timeout" and rest:
            rest.pop(0)
        command = replace(
            command,
            words=tuple(rest),
            assigns=assigns,
            wrapped_by=(*command.wrapped_by, wrapper),
        )
    return command
