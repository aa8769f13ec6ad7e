"""What the model is reminded of in a turn: of the agent's hint, and to check its work before the turn ends.

It is a fold over the log, so a worker that takes the turn over reminds it of nothing twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from paca import events
from paca.engine.approvals import command_rules
from paca.engine.tools.base import Effect
from paca.events import Event

HINT, VERIFICATION = "hint", "verification"
# Tools that change nothing that can be checked.
NOTES = ("remember", "write_todo_list")
COMMAND_TOOLS = ("bash", "background_run")
DEFAULT_VERIFICATION = (
    "Before this turn ends, check your work against what was asked: look at what you changed, and run what"
    " proves it, such as the tests. Mend what is wrong."
)


class VerificationPolicy(StrEnum):
    """When the model is asked to check its work before a turn ends in which it has changed something."""

    OFF = "off"
    UNATTENDED = "unattended"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Reminders:
    """The reminders of the running turn. ``changed``: a call has begun that may have changed something.

    ``hinted``: the model has the hint before it. ``verified``: it was asked to check its work, and ``checking``:
    it has not replied since. ``changing`` are calls that have not begun and may change something.
    """

    hinted: bool = False
    verified: bool = False
    checking: bool = False
    changed: bool = False
    changing: frozenset[str] = frozenset()

    def advance(self, event: Event) -> Reminders:
        """The reminders after one more event; the same object if nothing changes."""
        match event:
            case events.ReminderGiven(kind="hint"):
                return replace(self, hinted=True)
            case events.ReminderGiven():
                return replace(self, verified=True, checking=True)
            case events.UsageRecorded(outcome="done", purpose="turn") if self.checking:
                return replace(self, checking=False)
            # A summary has taken the place of the hint.
            case events.ContextCompacted() if self.hinted:
                return replace(self, hinted=False)
            case events.ToolCalled() | events.ToolStarted() if not self.changed:
                return self._after_call(event)
        return self

    def _after_call(self, event: events.ToolCalled | events.ToolStarted) -> Reminders:
        if isinstance(event, events.ToolCalled):
            if event.problem or not _may_change(event):
                return self
            # guard: verification-after-a-change
            return replace(self, changing=self.changing | {event.call_id})
        if event.call_id not in self.changing:
            return self
        return replace(self, changed=True, changing=frozenset())


def _may_change(call: events.ToolCalled) -> bool:
    if call.effect == Effect.READ_ONLY or call.tool in NOTES:
        return False
    command = call.arguments.get("command")
    return (
        call.tool not in COMMAND_TOOLS
        or not isinstance(command, str)
        or bool(command_rules.scan(command))
    )
