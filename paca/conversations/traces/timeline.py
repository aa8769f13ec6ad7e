"""The calls of a conversation in time: of models and of tools, with what its trace says of them.

It needs no trace: rows of calls are written for every conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from paca.conversations.models import Conversation, ModelCall, ToolCall, Trace, TracedCall


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Some calls in the order in which they began. ``before`` asks for the ones before; None: there are none."""

    calls: list[dict[str, Any]]
    before: datetime | None


def page(conversation: Conversation, *, limit: int, before: datetime | None = None) -> TimelinePage:
    """The last ``limit`` calls that began ``before`` a time, else the newest, as JSON values.

    Calls of one reply begin at the same time. They come on one page, which may then have more than ``limit``.
    """
    models = ModelCall.objects.filter(conversation=conversation)
    tools = ToolCall.objects.filter(conversation=conversation)
    if before is not None:
        models, tools = models.filter(started_at__lt=before), tools.filter(called_at__lt=before)
    times = [
        *models.order_by("-started_at").values_list("started_at", flat=True)[: limit + 1],
        *tools.order_by("-called_at").values_list("called_at", flat=True)[: limit + 1],
    ]
    times.sort(reverse=True)
    first = times[min(limit, len(times)) - 1] if times else datetime.max.replace(tzinfo=UTC)
    shown: list[ModelCall | ToolCall] = [
        *models.filter(started_at__gte=first),
        *tools.filter(called_at__gte=first),
    ]
    shown.sort(key=lambda call: (_began(call), call.pk.hex))
    traced = _traced([each.pk for each in shown if isinstance(each, ModelCall)])
    calls = [
        _of_model(each, traced.get(each.pk)) if isinstance(each, ModelCall) else _of_tool(each)
        for each in shown
    ]
    has_more = (
        models.filter(started_at__lt=first).exists() or tools.filter(called_at__lt=first).exists()
    )
    return TimelinePage(calls, first if has_more else None)


def summary(conversation: Conversation) -> dict[str, Any]:
    """What is kept of the trace of a conversation, and what is not."""
    trace = Trace.objects.filter(pk=conversation.pk).first()
    return {
        "tracing": conversation.is_traced,
        "allowed": settings.TRACING,
        "keep_days": settings.KEEP_TRACE_DAYS or None,
        "stored_bytes": trace.stored_bytes if trace else 0,
        "dropped_calls": trace.dropped_calls if trace else 0,
    }


def _began(call: ModelCall | ToolCall) -> datetime:
    return call.started_at if isinstance(call, ModelCall) else call.called_at


def _traced(call_ids: list[UUID]) -> dict[UUID, TracedCall]:
    if not settings.TRACING:
        return {}
    rows = TracedCall.objects.filter(call_id__in=call_ids).defer("contents")
    return {each.call_id: each for each in rows}


def _seconds(start: datetime, end: datetime | None) -> float | None:
    return None if end is None else round((end - start).total_seconds(), 6)


def _of_model(call: ModelCall, traced: TracedCall | None) -> dict[str, Any]:
    seconds = _seconds(call.started_at, call.finished_at)
    return {
        "kind": "model",
        "call_id": call.pk.hex,
        "turn": call.turn,
        "name": call.model,
        "purpose": call.purpose,
        "attempt": call.attempt,
        "status": call.status,
        "started_at": call.started_at.isoformat(),
        "seconds": seconds,
        "tokens": {
            "input": call.input_tokens,
            "output": call.output_tokens,
            "cache_read": call.cache_read_tokens,
            "cache_write": call.cache_write_tokens,
        },
        "cost_usd": call.cost_usd,
        "trace": trace_facts(traced) if traced else None,
    }


def _of_tool(call: ToolCall) -> dict[str, Any]:
    return {
        "kind": "tool",
        "call_id": call.pk.hex,
        "turn": call.turn,
        "name": call.tool,
        "status": call.state,
        "cause": call.cause,
        "exit_code": call.exit_code,
        "started_at": call.called_at.isoformat(),
        # Between these a call waits for a person, or for its sandbox.
        "waited_seconds": _seconds(call.called_at, call.started_at),
        "seconds": _seconds(call.called_at, call.finished_at),
    }


def trace_facts(traced: TracedCall) -> dict[str, Any]:
    """The times and sizes of a traced call, as JSON values."""
    return {
        "asked_at": traced.asked_at.isoformat(),
        "first_byte_seconds": traced.first_byte_seconds,
        "first_token_seconds": traced.first_token_seconds,
        "last_byte_seconds": traced.last_byte_seconds,
        "http_status": traced.http_status,
        "request_id": traced.request_id,
        "request_bytes": traced.request_bytes,
        "omitted_bytes": traced.omitted_bytes,
    }
