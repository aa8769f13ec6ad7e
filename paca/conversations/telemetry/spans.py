"""The spans of a turn by OpenTelemetry's conventions for generative AI: its steps, model calls and tool calls.

The names of attributes stand here only: the conventions are still in development.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from paca import events
from paca.common.secret_removal import text_without_secrets
from paca.conversations import event_log, known_secrets
from paca.conversations.models import Conversation, ModelCall, ToolCall, Trigger, Turn
from paca.conversations.telemetry import otlp
from paca.conversations.telemetry.otlp import Span, SpanKind, Value

# Names of providers where the conventions have another than Paca.
PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "cohere_chat": "cohere",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
MAX_CONTENT_CHARACTERS = 32_000
_TYPES = (
    events.MessageSpoken.type,
    events.ToolCalled.type,
    events.ToolReturned.type,
)


@dataclass(slots=True)
class _Step:
    """The attempts to get one reply, and the tool calls of this reply."""

    attempts: list[ModelCall] = field(default_factory=list)
    tools: list[ToolCall] = field(default_factory=list)


@dataclass(slots=True)
class _Said:
    """What the log says of a turn: which reply asked for each tool call, and with ``contents`` the words."""

    model_call_of: dict[UUID, UUID] = field(default_factory=dict)
    received: list[str] = field(default_factory=list)
    spoken: dict[UUID, str] = field(default_factory=dict)
    arguments: dict[UUID, str] = field(default_factory=dict)
    outputs: dict[UUID, str] = field(default_factory=dict)


def of_conversation(conversation: Conversation) -> Iterator[Span]:
    """The spans of all turns that have ended, without contents."""
    turns = Turn.objects.filter(conversation=conversation, finished_at__isnull=False)
    asked_by = _asked_by(event_log.of_types(conversation.pk, (events.ToolCalled.type,)))
    for turn in turns.select_related("conversation__agent").order_by("number").iterator():
        # The log is read once for all turns: each reading of one turn passes over the whole log.
        yield from _Turn(turn, _Said(asked_by)).spans()


def of_turn(conversation_id: UUID, number: int, *, with_contents: bool = False) -> list[Span]:
    """The spans of a turn that has ended; none if it is gone.

    Ids follow from conversation, turn and call, so that a turn which is sent again makes the same spans.
    """
    rows = Turn.objects.select_related("conversation__agent")
    turn = rows.filter(
        conversation=conversation_id, number=number, conversation__deleted_at=None
    ).first()
    if turn is None or turn.finished_at is None:
        return []
    return _Turn(turn, _read_log(turn, with_contents=with_contents)).spans()


class _Turn:
    """A turn that has ended, with its rows."""

    def __init__(self, turn: Turn, said: _Said) -> None:
        self._turn = turn
        self._conversation = turn.conversation
        self._end: datetime = turn.finished_at or turn.started_at
        self._names = (turn.conversation_id, turn.number)
        self._trace_id = otlp.trace_id(*self._names)
        self._id = otlp.span_id(*self._names)
        where = {"conversation": turn.conversation_id, "turn": turn.number}
        self._models = list(ModelCall.objects.filter(**where).order_by("started_at", "attempt"))
        self._tools = list(ToolCall.objects.filter(**where).order_by("called_at"))
        self._said = said

    def spans(self) -> list[Span]:
        """The spans: the turn first, and each step before its calls."""
        found = [self._of_turn()]
        steps = self._steps()
        # A turn that ended before its first call has no step.
        ends = [*(step.attempts[0].started_at for step in steps[1:]), self._end]
        for step, end in zip(steps, ends, strict=False):
            found.extend(self._of_step(step, end))
        beside = [call for call in self._models if call.purpose != "turn"]
        return [*found, *(self._of_model_call(call, self._id) for call in beside)]

    def _steps(self) -> list[_Step]:
        steps: list[_Step] = []
        by_call: dict[UUID, _Step] = {}
        for call in self._models:
            if call.purpose != "turn":
                continue
            if call.attempt == 1 or not steps:
                steps.append(_Step())
            steps[-1].attempts.append(call)
            by_call[call.pk] = steps[-1]
        for tool in self._tools:
            step = by_call.get(self._said.model_call_of.get(tool.pk, tool.pk))
            if step or steps:
                (step or steps[-1]).tools.append(tool)
        return steps

    def _of_turn(self) -> Span:
        agent, turn = self._conversation.agent, self._turn
        said = self._said
        last = next(reversed(said.spoken.values()), "")
        return self._span(
            self._id,
            "",
            f"invoke_agent {agent.name}",
            turn.started_at,
            self._end,
            error=turn.reason if turn.status in ("failed", "paused") else "",
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.provider.name": _provider(agent.model),
                "gen_ai.request.model": agent.model.partition("/")[2],
                "gen_ai.agent.id": str(agent.pk),
                "gen_ai.agent.name": agent.name,
                "gen_ai.input.messages": _messages("user", said.received),
                "gen_ai.output.messages": _messages("assistant", [last] if last else []),
                "paca.project.id": str(self._conversation.project_id),
                "paca.turn": turn.number,
                "paca.turn.status": turn.status,
                "paca.turn.reason": turn.reason or None,
            },
        )

    def _of_step(self, step: _Step, end: datetime) -> Iterator[Span]:
        first = step.attempts[0]
        step_id = otlp.span_id("step", first.pk)
        ends = [call.finished_at or call.started_at for call in step.attempts]
        ends += [call.finished_at or call.called_at for call in step.tools]
        yield self._span(step_id, self._id, "step", first.started_at, min(max(ends), end))
        for attempt in step.attempts:
            yield self._of_model_call(attempt, step_id)
        for tool in step.tools:
            yield self._of_tool_call(tool, step_id)

    def _of_model_call(self, call: ModelCall, parent_id: str) -> Span:
        name = call.model.partition("/")[2]
        cached = (call.cache_read_tokens or 0) + (call.cache_write_tokens or 0)
        spoken = self._said.spoken.get(call.pk, "")
        return self._span(
            otlp.span_id("model", call.pk),
            parent_id,
            f"chat {name}",
            call.started_at,
            call.finished_at or call.started_at,
            kind=SpanKind.CLIENT,
            error="" if call.status == "done" else call.status,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": _provider(call.model),
                "gen_ai.request.model": name,
                # By the conventions they include the tokens of the cache.
                "gen_ai.usage.input_tokens": None
                if call.input_tokens is None
                else call.input_tokens + cached,
                "gen_ai.usage.output_tokens": call.output_tokens,
                "gen_ai.usage.cache_read.input_tokens": call.cache_read_tokens,
                "gen_ai.usage.cache_creation.input_tokens": call.cache_write_tokens,
                "gen_ai.output.messages": _messages("assistant", [spoken] if spoken else []),
                "paca.cost_usd": call.cost_usd,
                "paca.attempt": call.attempt,
                "paca.purpose": call.purpose,
            },
        )

    def _of_tool_call(self, call: ToolCall, parent_id: str) -> Span:
        return self._span(
            otlp.span_id("tool", call.pk),
            parent_id,
            f"execute_tool {call.tool}",
            call.called_at,
            call.finished_at or call.called_at,
            error="" if call.state == "done" else call.cause or call.state,
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.tool,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": call.pk.hex,
                "gen_ai.tool.call.arguments": self._said.arguments.get(call.pk),
                "gen_ai.tool.call.result": self._said.outputs.get(call.pk),
                "paca.exit_code": call.exit_code,
            },
        )

    def _span(
        self,
        own_id: str,
        parent_id: str,
        name: str,
        start: datetime,
        end: datetime,
        *,
        attributes: dict[str, Value] | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        error: str = "",
    ) -> Span:
        given = {
            "gen_ai.conversation.id": str(self._conversation.pk),
            **(attributes or {}),
        }
        return Span(self._trace_id, own_id, name, start, end, parent_id, kind, given, error)


def _read_log(turn: Turn, *, with_contents: bool) -> _Said:
    """What the log says of this turn."""
    types = _TYPES if with_contents else (events.ToolCalled.type,)
    found = [*event_log.of_turn(turn.conversation_id, turn.number, types)]
    said = _Said(_asked_by(enumerate(found)))
    if with_contents:
        _add_contents(said, found, turn)
    return said


def _asked_by(stored: Iterable[tuple[int, events.Event]]) -> dict[UUID, UUID]:
    """The model call that asked for each tool call, as far as the log has it."""
    return {
        UUID(event.call_id): UUID(event.model_call_id)
        for _, event in stored
        if isinstance(event, events.ToolCalled) and event.model_call_id
    }


def _add_contents(said: _Said, found: Iterable[events.Event], turn: Turn) -> None:
    clean = _cleaner(turn.conversation.agent_id)
    for event in found:
        match event:
            case events.MessageSpoken():
                said.spoken[UUID(event.call_id)] = clean(event.text)
            case events.ToolCalled():
                arguments = json.dumps(event.arguments, ensure_ascii=False)
                said.arguments[UUID(event.call_id)] = clean(arguments)
            case events.ToolReturned():
                said.outputs[UUID(event.call_id)] = clean(event.output)
    said.received = [clean(text) for text in _messages_of_people(turn)]


def _messages_of_people(turn: Turn) -> list[str]:
    """The messages that the turn answers, as their authors last changed them."""
    rows = Trigger.objects.filter(conversation=turn.conversation_id, turn=turn.number)
    numbers = set(rows.values_list("event_seq", flat=True))
    return [*event_log.texts_of_people(turn.conversation_id, numbers).values()]


def _cleaner(agent_id: UUID) -> Callable[[str], str]:
    """Removes the secrets of agent and installation, and cuts what is too long."""
    secrets = known_secrets.of_agent(agent_id)

    def clean(text: str) -> str:
        # guard: spans-hold-no-secrets
        text = text_without_secrets(text, secrets)
        return text[:MAX_CONTENT_CHARACTERS]

    return clean


def _provider(model: str) -> str:
    name = model.partition("/")[0]
    return PROVIDERS.get(name, name)


def _messages(role: str, texts: Sequence[str]) -> str | None:
    """Messages as the conventions write them, in one text; None if there are none."""
    if not texts:
        return None
    made = [{"role": role, "parts": [{"type": "text", "content": text}]} for text in texts]
    return json.dumps(made, ensure_ascii=False)
