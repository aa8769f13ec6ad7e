"""The model's view of a conversation: a pure fold over its log, valid for any prefix of any log.

Every provider accepts what ``History.messages()`` gives: the first message is a user's, roles
alternate, no block is empty, and each call is followed at once by exactly one result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paca import events
from paca.engine.llm.base import Block, Message, Text, Thinking, ToolResult, ToolUse
from paca.events import Event

BEGINNING = "(The conversation begins here.)"
GO_ON = "Go on."
GO_ON_EXACTLY = "Your answer was cut at the output limit. Go on exactly where it stopped."
CUT_TO_NOTHING = (
    "[Your reply was cut at the output limit; a cut tool call is not run. Write less at once.]"
)
NO_RESULT = "No result was recorded for this call; its outcome is unknown. Check before repeating."
NO_OUTPUT = "(no output)"


@dataclass(frozen=True, slots=True)
class Note:
    """Something said to the model that no reply has taken up yet, and its place in the log."""

    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call without a result. ``boot_id`` is None until it was started."""

    call: ToolUse
    boot_id: str | None = None


@dataclass(frozen=True, slots=True)
class History:
    """What the log up to ``seq`` means to the model.

    ``closed`` never changes any more. ``reply`` is the newest reply with what came of its calls;
    ``notes`` are what people and limits said since the model was last asked.
    """

    seq: int = 0
    closed: tuple[Message, ...] = ()
    reply: tuple[Block, ...] = ()
    reply_id: str = ""
    truncated: bool = False
    results: tuple[ToolResult, ...] = ()
    started: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()

    def messages(self) -> tuple[Message, ...]:
        """The messages of the next request."""
        return _close(self, self.seq).closed

    def open_calls(self) -> tuple[OpenCall, ...]:
        """Calls of the newest reply that have no result yet, in the order they were asked for."""
        known = {result.call_id for result in self.results}
        boots = dict(self.started)
        return tuple(
            OpenCall(block, boots.get(block.call_id))
            for block in self.reply
            if isinstance(block, ToolUse) and block.call_id not in known
        )


def advance(history: History, event: Event, seq: int) -> History:
    """The history after one more event of the log."""
    history = replace(history, seq=seq)
    match event:
        case events.UsageRecorded(seen_seq=seen):
            return _close(history, seen) if seen else history
        case events.MessageReceived(text=text):
            return _note(history, text)
        case (
            events.LimitNeared()
            | events.LimitReached()
            | events.ConversationInterrupted()
            | events.GuardNoticed()
        ):
            return _note(history, _hint(event))
        case events.ThoughtRecorded() | events.MessageSpoken() | events.ToolCalled():
            return _replied(history, event)
        case events.ToolStarted():
            return _started(history, event)
        case events.ToolReturned() | events.ToolOutcomeUnknown():
            return _returned(history, event)
    return history


def _replied(
    history: History, event: events.ThoughtRecorded | events.MessageSpoken | events.ToolCalled
) -> History:
    """One block of a reply, if it is one that a provider takes back."""
    match event:
        case events.ThoughtRecorded() if event.signature or event.redacted:
            thought = Thinking(event.text, event.signature, event.redacted)
            return _said(history, event.call_id, thought)
        case events.MessageSpoken(text=text) if text.strip():
            history = _said(history, event.call_id, Text(text))
            return replace(history, truncated=event.truncated)
        case events.MessageSpoken(truncated=True):
            return _note(history, CUT_TO_NOTHING)
        case events.ToolCalled():
            use = ToolUse(event.call_id, event.tool, event.arguments)
            return _said(history, event.model_call_id, use)
    return history


def _note(history: History, text: str) -> History:
    if not text.strip():
        return history
    return replace(history, notes=(*history.notes, Note(history.seq, text)))


def _hint(event: Event) -> str:
    match event:
        case events.LimitNeared(which="step_limit", left=left):
            return (
                f"[{left:.0f} steps are left in this turn. Finish what matters most,"
                " then answer with a summary.]"
            )
        case events.LimitReached(which="step_limit"):
            return (
                "[The step limit of this turn is reached. Do not call tools. Say briefly what is"
                " done, what is not, and what the next step would be.]"
            )
        case events.GuardNoticed(note=note):
            return f"[{note}]"
        case events.ConversationInterrupted(by=by):
            return f"[{by or 'A person'} interrupted you here. What they say next comes first.]"
    return ""


def _said(history: History, reply_id: str, block: Text | Thinking | ToolUse) -> History:
    """A block of a reply; the first of a reply closes what came before it."""
    another = reply_id != history.reply_id if history.reply else _needs_user(history.closed)
    if another:
        history = _close(history, history.seq)
    return replace(history, reply=(*history.reply, block), reply_id=reply_id)


def _started(history: History, event: events.ToolStarted) -> History:
    if not any(isinstance(b, ToolUse) and b.call_id == event.call_id for b in history.reply):
        return history
    return replace(history, started=(*history.started, (event.call_id, event.boot_id)))


def _returned(history: History, event: events.ToolReturned | events.ToolOutcomeUnknown) -> History:
    """The first result of an open call counts; a second one, or an orphan, does not."""
    # guard: history-first-result-counts
    if not any(entry.call.call_id == event.call_id for entry in history.open_calls()):
        return history
    failed = isinstance(event, events.ToolOutcomeUnknown) or event.failed
    output = event.output if event.output.strip() else NO_OUTPUT
    result = ToolResult(event.call_id, output, failed)
    return replace(history, results=(*history.results, result))


def _needs_user(messages: tuple[Message, ...]) -> bool:
    return not messages or messages[-1].role == "assistant"


def _close(history: History, seen: int) -> History:
    """Close the reply and take up the notes up to ``seen``: exactly what a request then held."""
    closed = history.closed
    reply = _sayable(history.reply)
    if reply:
        closed = (*closed, Message("assistant", reply))
    blocks: tuple[Block, ...] = _results(reply, history.results)
    # guard: history-messages-until-seen
    blocks += tuple(Text(note.text) for note in history.notes if note.seq <= seen)
    if not blocks and _needs_user(closed):
        blocks = (Text(_prompt(history, closed)),)
    if blocks:
        closed = _with_user(closed, blocks)
    return replace(
        history,
        closed=closed,
        reply=(),
        reply_id="",
        truncated=False,
        results=(),
        started=(),
        notes=tuple(note for note in history.notes if note.seq > seen),
    )


def _sayable(reply: tuple[Block, ...]) -> tuple[Block, ...]:
    """Thoughts alone are no message: providers refuse one without words or calls."""
    return () if all(isinstance(block, Thinking) for block in reply) else reply


def _results(reply: tuple[Block, ...], results: tuple[ToolResult, ...]) -> tuple[Block, ...]:
    known = {result.call_id: result for result in results}
    # guard: history-each-call-has-a-result
    return tuple(
        known.get(block.call_id, ToolResult(block.call_id, NO_RESULT, failed=True))
        for block in reply
        if isinstance(block, ToolUse)
    )


def _prompt(history: History, closed: tuple[Message, ...]) -> str:
    if not closed:
        return BEGINNING
    return GO_ON_EXACTLY if history.truncated else GO_ON


def _with_user(closed: tuple[Message, ...], blocks: tuple[Block, ...]) -> tuple[Message, ...]:
    if _needs_user(closed):
        return (*closed, Message("user", blocks))
    return (*closed[:-1], Message("user", (*closed[-1].blocks, *blocks)))
