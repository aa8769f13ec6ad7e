"""Reads the answers of a runner, which the agent may have taken over."""

from typing import Any, TypeVar

from paca.engine.workspace import CommandOutcome, ProcessInfo, SandboxGone

Answer = TypeVar("Answer")
MISFIT = "The sandbox gave an answer that does not fit the request."


def parse_outcome(fields: Any) -> CommandOutcome:
    """The outcome of a command. Raises ``SandboxGone`` if the runner's fields do not fit."""
    lists = {"living": (), "killed": (), **fields} if isinstance(fields, dict) else {}
    try:
        processes = {
            name: tuple(ProcessInfo(int(pid), str(line)) for pid, line in lists[name])
            for name in ("living", "killed")
        }
    except (KeyError, TypeError, ValueError):
        raise SandboxGone(MISFIT) from None
    # The runner does not know what was refused, and the agent may have taken it over.
    return parse(CommandOutcome, {**lists, **processes, "refused": ()})


def parse(cls: type[Answer], fields: Any) -> Answer:
    """An instance of ``cls`` from the runner's answer. Raises ``SandboxGone`` if the fields do not fit."""
    try:
        return cls(**fields)
    except TypeError:
        raise SandboxGone(MISFIT) from None
