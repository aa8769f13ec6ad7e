"""Renders a conversation as Markdown: what people and the agent said, and its work in folded blocks."""

import functools
import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.utils.html import escape
from django.utils.text import Truncator

from paca import events
from paca.common.frames import StoredEvent
from paca.conversations import usage_text
from paca.conversations.markdown_escaping import escape_markdown
from paca.conversations.models import Conversation
from paca.engine.todo_list import list_of
from paca.engine.tools.background_state import end_in_words


def markdown(conversation: Conversation, stored_events: Iterable[StoredEvent]) -> Iterator[str]:
    """The conversation in pieces; each is a block of Markdown."""
    yield from _heading(conversation)
    renderer = _Renderer(conversation.agent.name)
    for stored in stored_events:
        yield from renderer.render(stored)
    yield from renderer.render_open_calls()


def _heading(conversation: Conversation) -> Iterator[str]:
    agent, usage = conversation.agent, conversation.usage
    unpriced = conversation.unpriced_calls
    tokens = usage_text.format_tokens(usage, unpriced)
    cost = usage_text.format_cost(conversation.cost_usd, unpriced)
    status = conversation.status + (f" ({conversation.reason})" if conversation.reason else "")
    yield f"# {_escape_line(conversation.title) or 'Conversation'}\n\n"
    yield f"- Agent: {_escape_line(agent.name)} (@{agent.handle})\n"
    yield f"- Begun: {conversation.created_at:%Y-%m-%d %H:%M} UTC\n"
    yield f"- Status: {status}\n"
    yield f"- Tokens: {tokens}\n- Cost: {cost}\n\n"


class _Renderer:
    """Renders the events of one log in order. A tool call is rendered together with its outcome."""

    def __init__(self, agent_name: str) -> None:
        self.agent_name = agent_name
        self._open_calls: dict[str, events.ToolCalled] = {}

    def render(self, stored: StoredEvent) -> Iterator[str]:
        event = stored.load()
        if isinstance(event, events.ToolCalled):
            self._open_calls[event.call_id] = event
        elif isinstance(event, events.ToolReturned | events.ToolOutcomeUnknown):
            yield _tool_call(self._open_calls.pop(event.call_id, None), event)
        elif isinstance(event, events.MessageReceived | events.MessageEdited):
            yield _message(_author(event), stored.at, event.text)
            yield from _attached(event)
        elif isinstance(event, events.MessageSpoken):
            author = f"{self.agent_name} (demo)" if event.demo else self.agent_name
            yield _message(author, stored.at, event.text)
        elif isinstance(event, events.ThoughtRecorded):
            if event.text.strip():
                yield _folded_block("Thought", escape_markdown(event.text))
        elif note := _note(event):
            yield f"*{_escape_line(note)}*\n\n"

    def render_open_calls(self) -> Iterator[str]:
        for call in self._open_calls.values():
            yield _tool_call(call, None)


def _attached(event: events.MessageReceived | events.MessageEdited) -> Iterator[str]:
    """A line for each file that went with a message."""
    for path in event.attachments if isinstance(event, events.MessageReceived) else ():
        yield f"*Attached {_escape_line(path)}*\n\n"


def _author(event: events.MessageReceived | events.MessageEdited) -> str:
    if isinstance(event, events.MessageReceived):
        return event.author_name or "Somebody"
    return f"{event.by or 'Somebody'} (changed message)"


def _message(author: str, at: datetime, text: str) -> str:
    return f"## {_escape_line(author)}, {at:%Y-%m-%d %H:%M:%S}\n\n{escape_markdown(text)}\n\n"


def _tool_call(
    call: events.ToolCalled | None, outcome: events.ToolReturned | events.ToolOutcomeUnknown | None
) -> str:
    name = call.tool if call else "A tool"
    subject = f": {_shorten(call.subject)}" if call and call.subject else ""
    body = _arguments(call.arguments) if call else ""
    if outcome is not None:
        body += _fenced_block(outcome.output)
    return _folded_block(f"{name}{subject} ({_result(outcome)})", body)


def _arguments(arguments: dict[str, Any]) -> str:
    """The arguments as JSON. A single text, such as a command, is shown as it is."""
    match list(arguments.values()):
        case [str(text)]:
            return _fenced_block(text)
    return _fenced_block(json.dumps(arguments, ensure_ascii=False, indent=2), "json")


def _result(outcome: events.ToolReturned | events.ToolOutcomeUnknown | None) -> str:
    if outcome is None:
        return "no result yet"
    if isinstance(outcome, events.ToolOutcomeUnknown):
        return "outcome unknown"
    facts = [outcome.cause.replace("_", " ") or ("failed" if outcome.failed else "done")]
    if outcome.exit_code is not None:
        facts.append(f"exit code {outcome.exit_code}")
    if outcome.seconds:
        facts.append(f"{outcome.seconds:.1f} s")
    if outcome.truncated:
        facts.append("output cut")
    return ", ".join(facts)


@functools.singledispatch
def _note(event: events.Event) -> str:
    """One line about another event; empty for an event that only machines need."""
    return ""


@_note.register
def _(event: events.ConversationWaiting) -> str:
    return f"Waiting: {event.detail or event.reason.replace('_', ' ')}"


@_note.register
def _(event: events.ConversationPaused) -> str:
    return f"Paused: {event.detail or event.reason.replace('_', ' ')}"


@_note.register
def _(event: events.ConversationFailed) -> str:
    return f"Failed: {event.message} {event.next_step}".rstrip()


@_note.register
def _(event: events.ConversationStopped) -> str:
    return f"Stopped by {event.by}" if event.by else "Stopped"


@_note.register
def _(event: events.ConversationInterrupted) -> str:
    return f"Interrupted by {event.by}" if event.by else "Interrupted"


@_note.register
def _(event: events.ConversationForked) -> str:
    return f"Forked here from {event.title or 'another conversation'}"


@_note.register
def _(event: events.MessageWithdrawn) -> str:
    return f"{event.by or 'Somebody'} took back a message before it was read"


@_note.register
def _(event: events.SkillLoaded) -> str:
    return f"Skill opened: {event.skill}"


@_note.register
def _(event: events.MemoryWritten) -> str:
    what = "Noted for later" if event.text else "Taken out of the memory"
    waits = ", if a person accepts it" if event.state == "waiting" else ""
    return f"{what}{waits}: {event.text or event.replaces}"


@_note.register
def _(event: events.InstructionsRead) -> str:
    return f"Read {event.path} of the workspace"


@_note.register
def _(event: events.ModelRetried) -> str:
    return f"Model call failed and was tried again: {event.cause}"


@_note.register
def _(event: events.ModelSwitched) -> str:
    return f"{event.from_model} failed, {event.to_model} goes on: {event.cause}"


@_note.register
def _(event: events.LimitReached) -> str:
    return f"Limit reached: {event.which.replace('_', ' ')}"


@_note.register
def _(event: events.SandboxFilesCopied) -> str:
    return event.told


@_note.register
def _(event: events.SandboxLost) -> str:
    return f"Sandbox lost: {event.cause}"


@_note.register
def _(event: events.BackgroundStarted) -> str:
    return f"In the background as {event.handle}: {_shorten(event.command)}"


@_note.register
def _(event: events.BackgroundFinished) -> str:
    return f"Background command {event.handle} {end_in_words(event)}"


@_note.register
def _(event: events.SubagentStarted) -> str:
    return f"Helper {event.index + 1} ({event.kind}) began: {_shorten(event.task)}"


@_note.register
def _(event: events.SubagentFinished) -> str:
    reason = f" ({event.reason.replace('_', ' ')})" if event.status != "finished" else ""
    tokens = f", {event.usage['tokens']:,} tokens" if event.usage.get("tokens") else ""
    return f"Helper {event.index + 1} ({event.kind}) {event.status}{reason}{tokens}"


@_note.register
def _(event: events.ReminderGiven) -> str:
    return "Asked to check its work" if event.kind == "verification" else ""


@_note.register
def _(event: events.TodoChanged) -> str:
    todo = list_of(event)
    present = f"; now: {todo.present}" if todo.present else ""
    return (
        f"To-do list: {todo.done} of {len(todo.items)} done{present}"
        if todo.items
        else "To-do list cleared"
    )


def _folded_block(summary: str, body: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>\n\n{body.rstrip()}\n\n</details>\n\n"


def _shorten(text: str) -> str:
    return Truncator(" ".join(text.split())).chars(120)


def _fenced_block(text: str, language: str = "text") -> str:
    """The text in a fence that is longer than any fence within it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n\n"


def _escape_line(text: str) -> str:
    """The text on one line, with every character escaped that has a meaning in Markdown."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", " ".join(text.split()))
