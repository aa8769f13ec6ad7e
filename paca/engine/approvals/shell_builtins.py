"""Commands of the shell itself that run nothing and evaluate no text, so that no list has to name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from paca.engine.approvals.shell_variables import SHELL_VARIABLE, known_text, may_set
from paca.engine.approvals.shell_words import Word

UNARY_TESTS = frozenset(
    [
        "-b",
        "-c",
        "-d",
        "-e",
        "-f",
        "-g",
        "-h",
        "-k",
        "-L",
        "-n",
        "-p",
        "-r",
        "-s",
        "-S",
        "-t",
        "-u",
        "-w",
        "-x",
        "-z",
    ]
)
BINARY_TESTS = frozenset(
    ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"]
)


def is_harmless_builtin(program: str, words: Sequence[Word]) -> bool:
    """Whether it is a command of the shell that runs nothing and evaluates no text."""
    check = BUILTINS.get(program)
    return check is not None and check(words)


def _anything(words: Sequence[Word]) -> bool:
    return True


def _nothing(words: Sequence[Word]) -> bool:
    return not words


def _prints(words: Sequence[Word]) -> bool:
    """``printf -v`` evaluates the index of an array."""
    return bool(words) and words[0].literal and not words[0].text.startswith("-")


def _tests(words: Sequence[Word]) -> bool:
    """``test -v`` evaluates the index of an array, so that which test it is has to be known."""
    given = list(words[:-1] if words and known_text(words[-1]) == "]" else words)
    while given and known_text(given[0]) == "!":
        given.pop(0)
    if any(each.splits for each in given) or len(given) > 3:
        return False
    if len(given) == 2:
        return known_text(given[0]) in UNARY_TESTS
    return len(given) < 2 or known_text(given[1]) in BINARY_TESTS


def _reads(words: Sequence[Word]) -> bool:
    return all(
        known_text(each) == "-r" or SHELL_VARIABLE.fullmatch(known_text(each)) for each in words
    )


def _sets(words: Sequence[Word]) -> bool:
    plain = re.compile(r"-[euxo]+|pipefail")
    return bool(words) and all(plain.fullmatch(known_text(each)) for each in words)


def _exports(words: Sequence[Word]) -> bool:
    names = [re.match(r"(\w+)(?:=|\Z)", each.text, re.ASCII) for each in words]
    return all(
        name is not None and may_set(name[1], exported=True) and not word.splits
        for name, word in zip(names, words, strict=True)
    )


BUILTINS: dict[str, Callable[[Sequence[Word]], bool]] = {
    **dict.fromkeys(("cd", "pwd", "echo", "true", "false", ":", "exit"), _anything),
    "wait": _nothing,
    "printf": _prints,
    "test": _tests,
    "[": _tests,
    "read": _reads,
    "set": _sets,
    "export": _exports,
}
