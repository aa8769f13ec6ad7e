"""Words of command lines that decide what runs: known texts, and variables that change no program."""

from __future__ import annotations

import re

from paca.engine.approvals.shell_words import Unreadable, Word

SYSTEM_FOLDER = re.compile(r"/(?:usr/(?:local/)?)?s?bin/(?=[^/]+\Z)")
# Variables that change how programs look and not what they run.
HARMLESS_VARIABLES = frozenset(
    [
        "LANG",
        "LANGUAGE",
        "TZ",
        "TERM",
        "COLUMNS",
        "LINES",
        "NO_COLOR",
        "FORCE_COLOR",
        "CI",
        "NODE_ENV",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
    ]
)
# No program reads a variable of the shell unless it is exported. Some with small letters are, or may be: those of the
# network gate, and settings of npm.
SHELL_VARIABLE = re.compile(r"(?!npm_|.*_proxy\Z)[a-z_][a-z0-9_]*", re.ASCII)


class CommandRefused(Exception):
    """A command that is not allowed. The message says which and why, as a clause."""


def may_set(name: str, *, exported: bool) -> bool:
    """Whether a variable may be set before a command, or without one if it is not ``exported``."""
    if name in HARMLESS_VARIABLES or name.startswith("LC_"):
        return True
    return not exported and SHELL_VARIABLE.fullmatch(name) is not None


def known_text(word: Word) -> str:
    """The text of a word; empty if something in it is expanded."""
    return word.text if word.literal else ""


def literal(word: Word) -> str:
    """The text of a word that has to be known. Raises ``Unreadable``."""
    # guard: allowed-commands-known-arguments
    if not word.literal:
        raise Unreadable(f"`{word.text}` where it decides which command runs")
    return word.text
