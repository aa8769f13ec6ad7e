"""A conversation as Markdown: what people and the agent said, with the work folded between it."""

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
from paca.conversations.models import Conversation

# Not a sanitiser, viewers have theirs: it keeps a tag somebody wrote about from being taken for
# one, and from hiding the rest of the text. Code spans and fences show it as it is anyway.
_SPAN_OR_TAG = re.compile(r"(?<![\\`])(`+)(?!`).+?(?<!`)\1(?!`)|<(?=[A-Za-z/!?])")
_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")


def markdown(conversation: Conversation, log: Iterable[StoredEvent]) -> Iterator[str]:
    """The conversation in pieces, each a block of Markdown."""
    yield from _head(conversation)
    writer = _Writer(conversation.agent.name)
    for stored in log:
        yield from writer.write(stored)
    yield from writer.end()


def _head(conversation: Conversation) -> Iterator[str]:
    agent, usage = conversation.agent, conversation.usage
    cost = "of unknown price" if usage["cost_usd"] is None else f"${usage['cost_usd']:.4f}"
    state = conversation.status + (f" ({conversation.reason})" if conversation.reason else "")
    yield f"# {_line(conversation.title) or 'Conversation'}\n\n"
    yield f"- Agent: {_line(agent.name)} (@{agent.handle})\n"
    yield f"- Begun: {conversation.created_at:%Y-%m-%d %H:%M} UTC\n"
    yield f"- Status: {state}\n"
    yield f"- Used: {usage['input']:,} tokens in, {usage['output']:,} out, {cost}\n\n"


class _Writer:
    """Goes through a log once; a call waits for its outcome, so that the two are told together."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self._calls: dict[str, events.ToolCalled] = {}

    def write(self, stored: StoredEvent) -> Iterator[str]:
        event = stored.load()
        if isinstance(event, events.ToolCalled):
            self._calls[event.call_id] = event
        elif isinstance(event, events.ToolReturned | events.ToolOutcomeUnknown):
            yield _tool(self._calls.pop(event.call_id, None), event)
        elif isinstance(event, events.MessageReceived):
            yield _said(event.author_name or "Somebody", stored.at, event.text)
        elif isinstance(event, events.MessageSpoken):
            yield _said(f"{self.agent} (demo)" if event.demo else self.agent, stored.at, event.text)
        elif isinstance(event, events.ThoughtRecorded):
            if event.text.strip():
                yield _folded("Thought", inert(event.text))
        elif note := _note(event):
            yield f"*{_line(note)}*\n\n"

    def end(self) -> Iterator[str]:
        for call in self._calls.values():
            yield _tool(call, None)


def _said(author: str, at: datetime, text: str) -> str:
    return f"## {_line(author)}, {at:%Y-%m-%d %H:%M:%S}\n\n{inert(text)}\n\n"


def _tool(
    call: events.ToolCalled | None, outcome: events.ToolReturned | events.ToolOutcomeUnknown | None
) -> str:
    name = call.tool if call else "A tool"
    subject = f": {_short(call.subject)}" if call and call.subject else ""
    body = _arguments(call.arguments) if call else ""
    if outcome is not None:
        body += _fenced(outcome.output)
    return _folded(f"{name}{subject} ({_result(outcome)})", body)


def _arguments(given: dict[str, Any]) -> str:
    """A lone text, such as a command, reads better as it is than as JSON."""
    match list(given.values()):
        case [str(text)]:
            return _fenced(text)
    return _fenced(json.dumps(given, ensure_ascii=False, indent=2), "json")


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
    """One line about what else happened; empty for what only machines care about."""
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
def _(event: events.ModelRetried) -> str:
    return f"Model call failed and was tried again: {event.cause}"


@_note.register
def _(event: events.LimitReached) -> str:
    return f"Limit reached: {event.which.replace('_', ' ')}"


@_note.register
def _(event: events.SandboxLost) -> str:
    return f"Sandbox lost: {event.cause}"


def inert(text: str) -> str:
    """Markdown as somebody wrote it, that does not reach beyond its own block."""
    lines, fence = [], ""
    for line in text.rstrip().splitlines():
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif found := _FENCE.match(line):
            fence = found[0]
        else:
            line = _SPAN_OR_TAG.sub(lambda match: match[0] if match[1] else "&lt;", line)
        lines.append(line)
    return "\n".join([*lines, fence] if fence else lines)


def _closes(line: str, fence: str) -> bool:
    """Whether a line ends a fenced block: the same sign at least as often, hardly indented."""
    mark = line.strip()
    return mark.startswith(fence) and not mark.strip(fence[0]) and not line.startswith(" " * 4)


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>\n\n{body.rstrip()}\n\n</details>\n\n"


def _short(text: str) -> str:
    return Truncator(" ".join(text.split())).chars(120)


def _fenced(text: str, language: str = "text") -> str:
    """Text in a fence longer than any within it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n\n"


def _line(text: str) -> str:
    """Plain words on one line, with nothing that Markdown would read as more."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", " ".join(text.split()))
