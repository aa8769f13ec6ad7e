"""Programs that run the command in their own arguments, such as env, timeout and xargs."""

from __future__ import annotations

from collections.abc import Sequence

from paca.engine.approvals.shell_variables import SYSTEM_FOLDER, CommandRefused, literal, may_set
from paca.engine.approvals.shell_words import Unreadable, Word

# Programs that run the command in their arguments, and their options with a value and without.
LAUNCHERS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "env": (frozenset({"-u", "-C"}), frozenset({"-i", "-0"})),
    "nice": (frozenset({"-n"}), frozenset()),
    "timeout": (frozenset({"-s", "-k"}), frozenset({"--preserve-status", "--foreground", "-v"})),
    "xargs": (
        frozenset({"-I", "-n", "-P", "-d", "-L", "-a", "-s"}),
        frozenset({"-0", "-r", "-t", "-x"}),
    ),
    "nohup": (frozenset(), frozenset()),
    "setsid": (frozenset(), frozenset({"-w", "-f"})),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), frozenset()),
    "command": (frozenset(), frozenset({"-v", "-V"})),
    "exec": (frozenset(), frozenset()),
    "builtin": (frozenset(), frozenset()),
}


def launched(program: str, words: Sequence[Word]) -> list[Word]:
    """The command that a launcher runs; empty if it runs none.

    Raises ``Unreadable`` if that is not known for certain, and ``CommandRefused`` if it sets a variable of programs.
    """
    rest, replaced = list(words), ""
    while rest and (taken := _option(program, rest)):
        if program == "xargs" and taken[0].startswith("-I"):
            replaced = taken[-1].removeprefix("-I")
        del rest[: len(taken)]
    if program == "timeout" and rest:
        literal(rest.pop(0))
    if program == "xargs":
        return _run_by_xargs(rest, replaced)
    return rest


def _option(program: str, rest: Sequence[Word]) -> list[str]:
    """The option of the launcher that comes next with its value, or the variable that it sets; empty if none does."""
    with_value, without = LAUNCHERS[program]
    option = literal(rest[0])
    if option in without:
        return [option]
    if option in with_value:
        return [option, *(literal(each) for each in rest[1:2])]
    if any(option.startswith(each) for each in with_value):
        return [option]
    if program == "env" and "=" in option:
        name = option.partition("=")[0]
        # guard: allowed-commands-variables-of-env
        if not may_set(name, exported=True):
            raise CommandRefused(f"`{name}=` may change what programs do")
        return [option]
    if option.startswith("-"):
        raise Unreadable(f"the option `{option}` of `{program}`")
    return []


def _run_by_xargs(rest: list[Word], replaced: str) -> list[Word]:
    """The command of xargs, to which it adds words that it reads, or puts them in place of ``replaced``."""
    if not rest:
        return [Word("echo")]
    if SYSTEM_FOLDER.sub("", rest[0].text) in {*LAUNCHERS, "find", "eval"}:
        raise Unreadable(f"`{rest[0].text}` with arguments that are read later")
    if replaced:
        return [Word(each.text, each.literal and replaced not in each.text) for each in rest]
    return rest
