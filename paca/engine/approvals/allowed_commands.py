"""The commands that an agent or a project allows, and whether a command line starts no others.

A list names programs, each perhaps with the words that its arguments begin with, such as ``git`` or ``npm run *``.
Every command that the shell would start has to match, also those inside of others; a line that cannot be read for
certain is refused. A program that is allowed may do anything, so an interpreter in a list allows what it runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from paca.engine.approvals.command_launchers import LAUNCHERS, launched
from paca.engine.approvals.shell_builtins import is_harmless_builtin
from paca.engine.approvals.shell_variables import (
    SYSTEM_FOLDER,
    CommandRefused,
    known_text,
    literal,
    may_set,
)
from paca.engine.approvals.shell_words import Unreadable, Word
from paca.engine.approvals.strict_shell import SimpleCommand, read_commands

MAX_COMMANDS, MAX_COMMAND_CHARACTERS, MAX_NAMED = 200, 200, 30
PLAIN_PATTERN = re.compile(r"[^\s;&|<>()`$'\"\\]+( [^\s;&|<>()`$'\"\\]+)*")
RUNS_TEXT = re.compile(r"-[eux]*c", re.ASCII)
# Shells whose grammar the reader knows. Others have forms of their own that run text.
KNOWN_SHELLS = frozenset({"bash", "sh", "dash"})
FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


@dataclass(frozen=True, slots=True)
class CommandList:
    """The commands that somebody allows: ``owner`` is agent or project."""

    owner: str
    patterns: tuple[str, ...]


def pattern_problem(pattern: str) -> str:
    """Why this cannot stand in a list of allowed commands; empty if it can."""
    if len(pattern) > MAX_COMMAND_CHARACTERS:
        return f"A command has at most {MAX_COMMAND_CHARACTERS} characters."
    if not PLAIN_PATTERN.fullmatch(pattern):
        return f"Write a program, perhaps with words that follow it, such as git or npm run *: {pattern[:40]}"
    if not pattern.split()[0].strip("*?[]/"):
        return "The name of a program is needed. Leave the list out to allow all commands."
    return ""


def refusal(command: str, lists: Sequence[CommandList]) -> str:
    """What the model reads in place of a result, if one of the lists does not allow the command; else empty."""
    for allowed in lists:
        try:
            _check_text(command, allowed.patterns, 0)
        except (CommandRefused, Unreadable, RecursionError) as found:
            return _explain(found, allowed)
    return ""


def describe(lists: Sequence[CommandList]) -> str:
    """The lists in the words of the system prompt; empty without any."""
    if not lists:
        return ""
    each = "".join(f" This {allowed.owner} allows: {_named(allowed)}." for allowed in lists)
    both = " Each command has to be in both lists." if len(lists) > 1 else ""
    return f"Only some commands run in bash, and all others are refused, also inside of others.{each}{both}"


def _named(allowed: CommandList) -> str:
    named = ", ".join(f"`{each}`" for each in allowed.patterns[:MAX_NAMED]) or "none"
    more = len(allowed.patterns) - MAX_NAMED
    return f"{named} and {more} more" if more > 0 else named


def _explain(found: Exception, allowed: CommandList) -> str:
    why = str(found)
    if isinstance(found, Unreadable):
        why = f"the line has {why}, so the commands in it are not known for certain"
    return (
        f"Not run: {why}. Commands that this {allowed.owner} allows: {_named(allowed)}."
        f" Use these in plain lines, or say which other one you need and why: a person can add it to the allowed"
        f" commands of the {allowed.owner}."
    )


def _check_text(text: str, patterns: Sequence[str], depth: int) -> None:
    for command in read_commands(text, nesting=depth):
        _check_command(command, patterns, depth)


def _check_command(command: SimpleCommand, patterns: Sequence[str], depth: int) -> None:
    for name in command.assigns:
        # guard: allowed-commands-variables
        if not may_set(name, exported=bool(command.words)):
            raise CommandRefused(f"`{name}=` may change what programs do")
    if command.words:
        _check_words(command.words, patterns, depth)


def _check_words(words: Sequence[Word], patterns: Sequence[str], depth: int) -> None:
    """Check a command, and the ones that it starts. Raises ``CommandRefused`` or ``Unreadable``."""
    # guard: allowed-commands-plain-program
    if not words[0].literal:
        raise CommandRefused(
            f"`{words[0].text}` stands in place of a program, and what it becomes is not known"
        )
    program = SYSTEM_FOLDER.sub("", words[0].text)
    if program in LAUNCHERS and (inner := launched(program, words[1:])):
        _check_words(inner, patterns, depth)
    elif program == "find":
        _check_find(words, patterns, depth)
    elif program == "eval":
        _check_text(" ".join(literal(each) for each in words[1:]), patterns, depth + 1)
    elif program in LAUNCHERS or not is_harmless_builtin(program, words[1:]):
        _check_program(program, words, patterns, depth)


def _check_program(
    program: str, words: Sequence[Word], patterns: Sequence[str], depth: int
) -> None:
    if program in KNOWN_SHELLS and len(words) > 2 and RUNS_TEXT.fullmatch(known_text(words[1])):
        if not _matches(words, patterns):
            text = literal(words[2])
            # guard: allowed-commands-of-other-shells
            if program != "bash" and "&>" in text:
                raise Unreadable(f"`&>`, which `{program}` reads as two commands")
            _check_text(text, patterns, depth + 1)
        return
    _require_match(words, patterns)


def _require_match(words: Sequence[Word], patterns: Sequence[str]) -> None:
    # guard: allowed-commands-match
    if not _matches(words, patterns):
        raise CommandRefused(
            f"`{words[0].text}` with these arguments is not among the allowed commands"
        )


def _matches(words: Sequence[Word], patterns: Sequence[str]) -> bool:
    return any(_matches_one(words, pattern.split()) for pattern in patterns)


def _matches_one(words: Sequence[Word], wanted: Sequence[str]) -> bool:
    """Whether the words begin with those of the pattern. A ``*`` stands for what is not known, one or no word."""
    program = words[0].text
    if "/" not in wanted[0]:
        program = SYSTEM_FOLDER.sub("", program)
    # guard: allowed-commands-only-system-folders
    if program.count("/") != wanted[0].count("/") or "/.." in program.removeprefix(".."):
        return False
    if not all(map(fnmatchcase, program.split("/"), wanted[0].split("/"))):
        return False
    if len(wanted) > 1 and wanted[-1] == "*":
        wanted = wanted[:-1]
    given = words[1 : len(wanted)]
    if len(given) < len(wanted) - 1:
        return False
    return all(
        (word.literal and fnmatchcase(word.text, pattern)) or (pattern == "*" and not word.splits)
        for word, pattern in zip(given, wanted[1:], strict=True)
    )


def _check_find(words: Sequence[Word], patterns: Sequence[str], depth: int) -> None:
    _require_match(words, patterns)
    texts = [literal(each) for each in words]
    for place, text in enumerate(texts):
        if text not in FIND_RUNS:
            continue
        rest = texts[place + 1 :]
        ends = (
            at for at in range(len(rest)) if rest[at] == ";" or rest[at - 1 : at + 1] == ["{}", "+"]
        )
        end = next(ends, len(rest))
        if end == 0:
            raise Unreadable(f"`{text}` without a command")
        # guard: allowed-commands-of-find
        _check_words([Word(each, "{}" not in each) for each in rest[:end]], patterns, depth + 1)
