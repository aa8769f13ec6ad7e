"""The history that the model sees: a pure fold over the event log.

For any prefix of any log, every provider accepts ``History.messages()``: the first message is a
user's, roles alternate, no block is empty, and exactly one result follows each call at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paca import events
from paca.engine.context import message_rules, platform_texts, replacing, trimming
from paca.engine.context.measuring import Measured
from paca.engine.llm.base import Block, Image, Message, Text, Thinking, ToolResult, ToolUse
from paca.events import Event

# Causes of results that no tool has written.
OWN_WORDS = ("invalid", "unknown_tool", "refused", "denied")
# What these tools give is no data from outside: the agent's thought, the texts of its skills, and people's words.
TRUSTED_TOOLS = ("think", "list_skills", "read_skill", "ask_person", "propose_plan", "update_plan")
HISTORY_FORM = "history_form"  # the code of a ``ModelNoticed``
FILES_LATER = "later"  # of a ``ConversationForked``


@dataclass(frozen=True, slots=True)
class PendingText:
    """A text for the model that no request contained yet, with its position in the log.

    ``ending`` is its end that stays when a person changes the rest.
    """

    seq: int
    text: str
    ending: str = ""


@dataclass(frozen=True, slots=True)
class CutOffReply:
    """The text of a reply that was cancelled while people watched it."""

    reply_id: str
    text: str


@dataclass(frozen=True, slots=True)
class TextForm:
    """The server that takes this history as text only, and until when, in seconds since 1970."""

    server: str = ""
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call without a result. ``boot_id`` names the runner that it was started in, else None."""

    call: ToolUse
    boot_id: str | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The model's view of the log up to ``seq``.

    ``closed`` are messages that do not change any more. ``reply`` is the newest reply, with the
    ``results`` of its calls and the boot ids of the ``started`` ones. ``pending`` are texts of
    people and limits that came after the last request. ``cut_off`` is the text of a cancelled reply, as far
    as people saw it; it becomes part of the history if the turn ends there. ``instructions`` are the
    files for agents by path, each with the text that was shown last. ``text_form`` is what a server has refused.
    ``copies_files``: the files of the conversation's origin are to be copied before its sandbox is first opened.
    ``ends``: the last event of each closed message. ``reply_end``: the last event of the newest reply and
    its results.
    """

    seq: int = 0
    closed: tuple[Message, ...] = ()
    ends: tuple[int, ...] = ()
    measured: Measured = Measured()
    reply_end: int = 0
    reply: tuple[Block, ...] = ()
    reply_id: str = ""
    truncated: bool = False
    results: tuple[ToolResult, ...] = ()
    started: tuple[tuple[str, str], ...] = ()
    pending: tuple[PendingText, ...] = ()
    cut_off: CutOffReply | None = None
    instructions: tuple[tuple[str, str], ...] = ()
    text_form: TextForm = TextForm()
    copies_files: bool = False

    def messages(self) -> tuple[Message, ...]:
        """The messages of the next request."""
        return _close(self, self.seq).closed

    def open_calls(self) -> tuple[OpenCall, ...]:
        """The calls of the newest reply without a result, in the order of the reply."""
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
            return _add_usage(_close(history, seen), event) if seen else history
        case events.MessageReceived() | events.MessageEdited() | events.MessageWithdrawn():
            return _add_message_event(history, event)
        case (
            events.SkillLoaded()
            | events.InstructionsRead()
            | events.RepositoryCloned()
            | events.LimitNeared()
            | events.LimitReached()
            | events.GuardNoticed()
            | events.ReminderGiven()
            | events.ConversationForked()
            | events.FlagsChanged()
            | events.SandboxFilesCopied()
            | events.BackgroundFinished()
        ):
            return _add_text_of_platform(history, event)
        case (
            events.MessageDiscarded()
            | events.ConversationInterrupted()
            | events.TurnFinished()
            | events.ConversationQueued()
        ):
            return _end_turn(history, event)
        case events.ThoughtRecorded() | events.MessageSpoken() | events.ToolCalled():
            return _add_reply_event(history, event)
        case events.ToolStarted() | events.ToolReturned() | events.ToolOutcomeUnknown():
            return _add_call_event(history, event)
        case events.ModelNoticed() | events.ContextTrimmed() | events.ContextCompacted():
            return _change_form(history, event)
    return history


def _change_form(
    history: History, event: events.ModelNoticed | events.ContextTrimmed | events.ContextCompacted
) -> History:
    """Note in which form, or how far shortened, the model's server takes the history."""
    if not isinstance(event, events.ModelNoticed):
        return _shorten(history, event)
    if event.code != HISTORY_FORM:
        return history
    return replace(history, text_form=TextForm(event.server, event.until))


def _add_usage(history: History, usage: events.UsageRecorded) -> History:
    if usage.outcome != "done" or usage.purpose != "turn":
        return history
    return replace(history, measured=history.measured.after_request(history.closed, usage))


def _shorten(history: History, event: events.ContextTrimmed | events.ContextCompacted) -> History:
    """Leave out old results, or put a summary in place of what came before."""
    if isinstance(event, events.ContextTrimmed):
        closed, ends = trimming.leave_out(history.closed, event.results), history.ends
    else:
        upto = event.upto_seq
        is_open = history.reply or any(note.seq <= upto for note in history.pending)
        if is_open and upto >= history.reply_end:
            history = _close(history, upto)
        closed, ends = replacing.replace_beginning(history.closed, history.ends, event)
    measured = history.measured.after_rewrite()
    return replace(history, closed=closed, ends=ends, measured=measured)


def _add_text_of_platform(history: History, event: Event) -> History:
    """Add a text that no person has written as a message, where the event stands in the log."""
    if isinstance(event, events.InstructionsRead):
        shown = {**dict(history.instructions), event.path: event.text}
        history = replace(history, instructions=tuple(shown.items()))
    if isinstance(event, events.ConversationForked | events.SandboxFilesCopied):
        # guard: files-are-copied-once
        history = replace(history, copies_files=event.files == FILES_LATER)
    return _add_text(history, platform_texts.text_of(event))


def _add_call_event(
    history: History, event: events.ToolStarted | events.ToolReturned | events.ToolOutcomeUnknown
) -> History:
    if isinstance(event, events.ToolStarted):
        return _mark_started(history, event)
    return _add_result(history, event)


def _end_turn(history: History, event: Event) -> History:
    """Keep what people saw of a reply that was cut off, and tell the model why the turn ended there."""
    match event:
        case events.MessageDiscarded(cause="cancelled", text=text) if text.strip():
            return replace(history, cut_off=CutOffReply(event.call_id, text.rstrip()))
        case events.ConversationInterrupted() | events.TurnFinished():
            return _add_notice_of_end(_keep_cut_off_reply(history), platform_texts.notice_of(event))
        case events.ConversationQueued(trigger="continue") if _was_stopped(history):
            return _add_text(history, platform_texts.GO_ON)
    return history


def _keep_cut_off_reply(history: History) -> History:
    cut_off = history.cut_off
    # guard: history-keeps-a-cut-off-reply
    if cut_off is not None:
        history = _add_block(history, cut_off.reply_id, Text(cut_off.text))
    return replace(history, cut_off=None)


def _add_notice_of_end(history: History, notice: str) -> History:
    """Add the notice before messages that came during the reply: the model has not read them yet."""
    if not notice:
        return history
    return replace(history, pending=(PendingText(history.seq, notice), *history.pending))


def _was_stopped(history: History) -> bool:
    return any(note.text == platform_texts.STOPPED for note in history.pending)


def _add_reply_event(
    history: History, event: events.ThoughtRecorded | events.MessageSpoken | events.ToolCalled
) -> History:
    """Add a block of a reply, unless a provider would not accept it in a later request."""
    match event:
        case events.ThoughtRecorded() if event.signature or event.redacted or event.attached:
            thought = Thinking(event.text, event.signature, event.redacted, event.attached)
            return _add_block(history, event.call_id, thought)
        case events.MessageSpoken(text=text) if text.strip():
            history = _add_block(history, event.call_id, Text(text))
            return replace(history, truncated=event.truncated)
        case events.MessageSpoken(truncated=True):
            return _add_text(history, platform_texts.CUT_TO_NOTHING)
        case events.ToolCalled():
            use = ToolUse(event.call_id, event.tool, event.arguments, event.problem, event.attached)
            return _add_block(history, event.model_call_id, use)
    return history


def _add_text(history: History, text: str, *, ending: str = "") -> History:
    if not text.strip():
        return history
    added = PendingText(history.seq, text + ending, ending)
    return replace(history, pending=(*history.pending, added))


def _add_message_event(
    history: History,
    event: events.MessageReceived | events.MessageEdited | events.MessageWithdrawn,
) -> History:
    if isinstance(event, events.MessageReceived):
        return _add_text(history, event.text, ending=platform_texts.attachments(event.attachments))
    return _change_pending(history, event)


def _change_pending(
    history: History, event: events.MessageEdited | events.MessageWithdrawn
) -> History:
    """Replace or remove a message that no request contained yet. Of an older one the model is told."""
    text = event.text if isinstance(event, events.MessageEdited) else ""
    if not any(note.seq == event.event_seq for note in history.pending):
        return _add_text(history, platform_texts.change_of(event))
    changed = (
        replace(note, text=text and text + note.ending) if note.seq == event.event_seq else note
        for note in history.pending
    )
    return replace(history, pending=tuple(note for note in changed if note.text))


def _add_block(history: History, reply_id: str, block: Text | Thinking | ToolUse) -> History:
    """Add a block of a reply. The first block of a reply closes the messages before it."""
    begins = (
        reply_id != history.reply_id
        if history.reply
        else message_rules.needs_user_message(history.closed)
    )
    if begins:
        history = _close(history, history.seq)
    reply = (*history.reply, block)
    return replace(history, reply=reply, reply_id=reply_id, reply_end=history.seq)


def _mark_started(history: History, event: events.ToolStarted) -> History:
    if not any(
        isinstance(block, ToolUse) and block.call_id == event.call_id for block in history.reply
    ):
        return history
    return replace(history, started=(*history.started, (event.call_id, event.boot_id)))


def _add_result(
    history: History, event: events.ToolReturned | events.ToolOutcomeUnknown
) -> History:
    """Add the first result of an open call. A second result, or one without a call, is ignored."""
    # guard: history-first-result-counts
    found = [each.call for each in history.open_calls() if each.call.call_id == event.call_id]
    if not found:
        return history
    failed = isinstance(event, events.ToolOutcomeUnknown) or event.failed
    output = event.output if event.output.strip() else platform_texts.NO_OUTPUT
    shown = () if isinstance(event, events.ToolOutcomeUnknown) else event.images
    images = tuple(Image(each.get("kind", ""), each.get("data", "")) for each in shown)
    result = ToolResult(event.call_id, output, failed, _source(event, found[0]), images)
    return replace(history, results=(*history.results, result), reply_end=history.seq)


def _source(event: events.ToolReturned | events.ToolOutcomeUnknown, call: ToolUse) -> str:
    """The tool whose output the result holds; empty if it holds only words of Paca."""
    if isinstance(event, events.ToolOutcomeUnknown) or not event.output.strip():
        return ""
    return "" if event.cause in OWN_WORDS or call.tool in TRUSTED_TOOLS else call.tool


def _close(history: History, seen: int) -> History:
    """Close the reply and the pending texts up to ``seen``, as the request at that point held them."""
    closed, ends = history.closed, history.ends
    reply = message_rules.without_lone_thoughts(history.reply)
    if reply:
        closed, ends = (*closed, Message("assistant", reply)), (*ends, history.reply_end)
    blocks: tuple[Block, ...] = message_rules.results_of(reply, history.results)
    # guard: history-messages-until-seen
    blocks += tuple(Text(note.text) for note in history.pending if note.seq <= seen)
    if not blocks and message_rules.needs_user_message(closed):
        blocks = (Text(_continue_text(history, closed)),)
    if blocks:
        ends = (
            *(ends if message_rules.needs_user_message(closed) else ends[:-1]),
            _end(history, seen),
        )
        closed = message_rules.append_user(closed, blocks)
    return replace(
        history,
        closed=closed,
        ends=ends,
        reply=(),
        reply_id="",
        truncated=False,
        results=(),
        started=(),
        pending=tuple(note for note in history.pending if note.seq > seen),
        cut_off=None,
    )


def _end(history: History, seen: int) -> int:
    """The last event of the user's message that closes the reply and the pending texts up to ``seen``."""
    texts = [note.seq for note in history.pending if note.seq <= seen]
    return max(history.reply_end, *history.ends[-1:], *texts, 0)


def _continue_text(history: History, closed: tuple[Message, ...]) -> str:
    if not closed:
        return platform_texts.BEGINNING
    return platform_texts.GO_ON_EXACTLY if history.truncated else platform_texts.GO_ON
