"""What a whole turn took: its time, and the usage of its model calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from paca.common.best_effort import tolerated
from paca.conversations.models import ModelCall, ModelCallStatus, Turn
from paca.engine.llm.base import COST_DIGITS

TOKENS = ("input", "output", "cache_read", "cache_write")
RECORDED = (ModelCallStatus.DONE, ModelCallStatus.FAILED, ModelCallStatus.CANCELLED)


def measure(conversation_id: UUID, number: int) -> dict[str, Any]:
    """The facts ``seconds`` and ``usage`` of ``TurnFinished``; none if they cannot be read.

    A turn ends whatever becomes of its totals: a failure is logged and counted.
    """
    # guard: usage-failure-of-totals-is-tolerated
    with tolerated("usage"), transaction.atomic():
        return _measure(conversation_id, number)
    return {}


def _measure(conversation_id: UUID, number: int) -> dict[str, Any]:
    started = Turn.objects.filter(conversation=conversation_id, number=number)
    at = started.values_list("started_at", flat=True).first()
    calls = ModelCall.objects.filter(
        conversation=conversation_id, turn=number, status__in=RECORDED
    ).values_list(*(f"{name}_tokens" for name in TOKENS), "cost_usd")
    seconds = (timezone.now() - at).total_seconds() if at else 0.0
    return {"seconds": round(max(0.0, seconds), 3), "usage": _add_up(calls)}


def _add_up(calls: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
    rows = list(calls)
    priced = [row[-1] for row in rows if row[-1] is not None]
    unpriced = len(rows) - len(priced)
    return {
        **{name: sum(row[at] or 0 for row in rows) for at, name in enumerate(TOKENS)},
        "cost_usd": None if unpriced else round(sum(priced), COST_DIGITS),
        "calls": len(rows),
        "unpriced_calls": unpriced,
        "priced_cost_usd": round(sum(priced), COST_DIGITS),
    }
