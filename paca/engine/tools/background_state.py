"""The background commands of a conversation: a fold over its log, and the words about how one ended.

A background command is a call of the runner that nobody waits for. The runner's call table is the truth about it
while the runner lives; the log tells when it was handed over, and how it ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paca import events
from paca.engine.llm.base import mark_as_data
from paca.engine.tools.formatting import (
    format_seconds,
    refused_remark,
    strip_terminal_codes,
    to_one_line,
    truncate_middle,
)
from paca.engine.workspace import CommandOutcome
from paca.events import Event

MAX_RUNNING = 8  # in one conversation
KEPT_ENDED = 8
MAX_OUTPUT_BYTES = 2_000  # of an end, as the log and the model's history have it
MAX_COMMAND_CHARACTERS = 4_000
START_TOOL = "background_run"


@dataclass(frozen=True, slots=True)
class BackgroundCommand:
    """A command that runs in the background. ``handle`` is its name for the model and for people, such as bg1."""

    call_id: str
    handle: str
    command: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class BackgroundState:
    """The background commands that run, the newest that ended, and how many there have been."""

    count: int = 0
    running: tuple[BackgroundCommand, ...] = ()
    ended: tuple[events.BackgroundFinished, ...] = ()

    def advance(self, event: Event) -> BackgroundState:
        """The state after one more event; the same object if nothing changes."""
        match event:
            case events.BackgroundStarted():
                started = BackgroundCommand(
                    event.call_id, event.handle, event.command, event.boot_id
                )
                return replace(self, count=self.count + 1, running=(*self.running, started))
            case events.BackgroundFinished():
                left = tuple(each for each in self.running if each.call_id != event.call_id)
                return replace(self, running=left, ended=(*self.ended, event)[-KEPT_ENDED:])
            # guard: fork-has-no-background-work-of-its-origin
            case events.ConversationForked() if self.running:
                return replace(self, running=())
        return self

    @property
    def next_handle(self) -> str:
        """The handle of the next command."""
        return f"bg{self.count + 1}"

    def find(self, handle: str) -> BackgroundCommand | None:
        """The running command of this handle."""
        return next((each for each in self.running if each.handle == handle), None)

    def find_ended(self, handle: str) -> events.BackgroundFinished | None:
        """How the command of this handle ended, if it is among the newest that did."""
        return next((each for each in reversed(self.ended) if each.handle == handle), None)

    @property
    def carried(self) -> str:
        """What the model must know of it after a summary; empty if nothing runs."""
        named = ", ".join(f"{each.handle} ({to_one_line(each.command)})" for each in self.running)
        return f"Commands that run in the background: {named}" if named else ""


def finished(
    command: BackgroundCommand, outcome: CommandOutcome, *, by: str = "", told: bool = False
) -> events.BackgroundFinished:
    """The event of a command that has ended. ``by`` is the person who stopped it."""
    text, cut = truncate_middle(strip_terminal_codes(outcome.output).strip("\n"), MAX_OUTPUT_BYTES)
    if outcome.refused:
        text = f"{text}\n[{refused_remark(outcome.refused)}]".lstrip()
    return events.BackgroundFinished(
        call_id=command.call_id,
        handle=command.handle,
        command=to_one_line(command.command),
        exit_code=outcome.exit_code,
        cause=outcome.cause,
        seconds=round(outcome.seconds, 1),
        output=text,
        truncated=outcome.truncated or cut,
        file=outcome.file,
        by=by,
        told=told,
    )


def lost(call_id: str, handle: str, command: str, *, why: str = "") -> events.BackgroundFinished:
    """The event of a command whose sandbox ended: how it went is not known."""
    return events.BackgroundFinished(
        call_id=call_id, handle=handle, command=to_one_line(command), cause="lost", output=why
    )


_ENDS = {
    "timed_out": "reached its time limit and was ended",
    "out_of_memory": "was killed: out of memory",
    "too_many_processes": "was ended: it started more processes than the sandbox allows",
    "disk_full": "was ended: the workspace is full",
    "lost": "was lost with its sandbox; how far it came is not known",
}


def end_in_words(event: events.BackgroundFinished) -> str:
    """How the command ended, such as ``ended with exit code 0 after 95 s``."""
    after = f" after {format_seconds(event.seconds)}" if event.seconds else ""
    if event.cause == "cancelled":
        return f"was stopped{f' by {event.by}' if event.by else ''}{after}"
    if event.cause:
        return f"{_ENDS.get(event.cause, 'ended')}{after}"
    code = "unknown" if event.exit_code is None else event.exit_code
    return f"ended with exit code {code}{after}"


def note_of(event: events.BackgroundFinished) -> str:
    """The note by which the model hears of the end; empty if the result of a call has told it."""
    if event.told:
        return ""
    where = f" Its whole output is in {event.file}." if event.file else ""
    said = (
        f"[The background command {event.handle} ({event.command}) {end_in_words(event)}.{where}]"
    )
    # guard: background-output-is-data
    return f"{said}\n{mark_as_data(event.output, event.handle)}" if event.output else said
