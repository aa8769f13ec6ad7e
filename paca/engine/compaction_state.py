"""What the log says about summaries of it: whether one is wanted, and what each must carry over.

It is a fold over the log, so a worker that takes the conversation over knows the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paca import events
from paca.engine.todo_list import TodoList, list_of
from paca.engine.tools.compact import COMPACT_TOOL
from paca.engine.tools.formatting import truncate_middle
from paca.events import Event

AUTOMATIC, AGENT, PERSON = "automatic", "agent", "person"
WRITES = ("write_file", "edit_file")
MAX_NAMES = 30  # files and skills that are carried over, each
MAX_BYTES = 8_000  # of a message that is kept to be carried over


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """A summary that the agent or a person wants; ``focus``: what it must keep."""

    by: str
    focus: str = ""


@dataclass(frozen=True, slots=True)
class PersonMessage:
    """A message to the agent, with the number of its event."""

    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class CompactionState:
    """What the next summary needs to know.

    ``called``: the id and the focus of a call of the tool that asks for one. ``first`` and ``newest`` are messages of people, ``files`` the files that the agent wrote, ``skills``
    those that were opened, ``instructions`` the paths of files for agents that were shown.
    ``refused_window`` is the model with the window that its server told in a refusal. ``full`` counts the
    turns in a row that ended because the conversation did not fit into the window of ``full_model``.
    ``summary_failed``: a call for a summary has failed since the last summary. ``todo`` is the agent's to-do list.
    """

    requested: CompactionRequest | None = None
    called: tuple[str, str] = ("", "")
    refused_window: tuple[str, int] = ("", 0)
    full: int = 0
    full_model: str = ""
    failed_model: str = ""
    summary_failed: bool = False
    first: PersonMessage | None = None
    newest: PersonMessage | None = None
    files: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    todo: TodoList = TodoList()

    def advance(self, event: Event, seq: int) -> CompactionState:
        """The state after one more event, whose number is ``seq``; the same object if nothing changes."""
        match event:
            case events.ToolCalled() | events.ToolReturned():
                return self._after_tool(event)
            case events.UsageRecorded() | events.TurnFinished():
                return self._after_call(event)
            case events.MessageReceived() | events.MessageEdited() | events.MessageWithdrawn():
                return self._after_message(event, seq)
            case (
                events.ContextCompactionRequested()
                | events.ContextCompacted()
                | events.ContextCompactionSkipped()
                | events.ContextTrimmed()
                | events.ConversationForked()
            ):
                return self._after_context(event)
            case events.SkillLoaded(skill=skill):
                return replace(self, skills=_with(self.skills, skill))
            case events.InstructionsRead(path=path):
                return replace(self, instructions=_with(self.instructions, path))
            case events.TodoChanged():
                return replace(self, todo=list_of(event))
        return self

    def _after_tool(self, event: events.ToolCalled | events.ToolReturned) -> CompactionState:
        match event:
            case events.ToolCalled(tool=tool, problem="") if tool == COMPACT_TOOL:
                return replace(
                    self, called=(event.call_id, str(event.arguments.get("focus") or ""))
                )
            case events.ToolCalled(tool=tool, subject=path) if tool in WRITES and path:
                return replace(self, files=_with(self.files, path))
            case events.ToolReturned(call_id=call_id, failed=False) if call_id == self.called[0]:
                request = CompactionRequest(AGENT, self.called[1])
                return replace(self, requested=request, called=("", ""))
        return self

    def _after_call(self, event: events.UsageRecorded | events.TurnFinished) -> CompactionState:
        match event:
            case events.UsageRecorded(outcome="failed", purpose="turn", model=model):
                return replace(self, failed_model=model)
            case events.UsageRecorded(outcome="failed", purpose="compaction"):
                return replace(self, summary_failed=True)
            case events.UsageRecorded(outcome="done", purpose="turn") if self.full:
                return replace(self, full=0)
            case events.TurnFinished(reason="context_full"):
                return replace(self, full=self.full + 1, full_model=self.failed_model)
        return self

    def _after_message(self, event: Event, seq: int) -> CompactionState:
        match event:
            case events.MessageReceived(text=text):
                message = PersonMessage(seq, truncate_middle(text, MAX_BYTES)[0])
                return replace(self, first=self.first or message, newest=message)
            case events.MessageEdited(event_seq=changed, text=text):
                return self._change(changed, truncate_middle(text, MAX_BYTES)[0])
            case events.MessageWithdrawn(event_seq=changed):
                return self._change(changed, "")
        return self

    def _change(self, seq: int, text: str) -> CompactionState:
        """The state after the message of the event ``seq`` was changed, or taken back if ``text`` is empty."""
        message = PersonMessage(seq, text) if text else None
        first, newest = (
            message if each is not None and each.seq == seq else each
            for each in (self.first, self.newest)
        )
        return replace(self, first=first, newest=newest)

    def _after_context(self, event: Event) -> CompactionState:
        match event:
            case events.ContextCompactionRequested(focus=focus):
                return replace(self, requested=CompactionRequest(PERSON, focus))
            case events.ContextCompactionSkipped():
                return replace(self, requested=None)
            case events.ConversationForked():
                # What a person or the agent asked of the origin is made there.
                # guard: fork-leaves-the-summary-of-its-origin
                return replace(self, requested=None, called=("", ""))
            case events.ContextCompacted() | events.ContextTrimmed():
                window = self.refused_window
                if event.refused and event.window:
                    window = (self.failed_model, event.window)
                is_done = isinstance(event, events.ContextCompacted)
                requested = None if is_done else self.requested
                failed = self.summary_failed and not is_done
                return replace(
                    self, refused_window=window, requested=requested, summary_failed=failed
                )
        return self


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The names with this one as the newest."""
    return (*(each for each in names if each != name), name)[-MAX_NAMES:]
