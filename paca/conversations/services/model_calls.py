"""Rows of model calls outside conversations, such as connection tests, and the repair of incomplete rows.

The store writes the rows of a conversation.
"""

from datetime import timedelta
from typing import Protocol
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone

from paca.agents.models import Agent
from paca.conversations.models import Conversation, ModelCall, ModelCallPurpose, ModelCallStatus
from paca.engine import after_turn
from paca.engine.llm.base import Usage
from paca.engine.llm.prices import cost_usd

# Longer than any call outside a conversation may take.
LOST_AFTER = timedelta(minutes=10)


class AskedModel(Protocol):
    """A model and the server that it is asked at, such as an ``Agent``."""

    model: str
    base_url: str


def begin(
    call_id: UUID,
    *,
    agent: Agent,
    purpose: str,
    asked: AskedModel | None = None,
    key_source: str = "",
) -> None:
    """Store that this model call begins, before its request is sent. ``key_source`` is whose key it uses.

    Raises ``ValueError`` for an unknown purpose.
    """
    ModelCall.objects.create(
        id=call_id,
        project_id=agent.project_id,
        agent=agent,
        purpose=ModelCallPurpose(purpose),
        model=(asked or agent).model,
        key_source=key_source,
        started_at=timezone.now(),
    )


def end(
    call_id: UUID,
    *,
    agent: Agent,
    usage: Usage | None,
    failed: bool,
    asked: AskedModel | None = None,
) -> None:
    """Store how the call ended and what it cost. A call without ``usage`` was not made, and its row goes."""
    row = ModelCall.objects.filter(pk=call_id, status=ModelCallStatus.STARTED)
    if usage is None:
        row.delete()
        return
    told = not usage.estimated
    model, base_url = (asked or agent).model, (asked or agent).base_url
    row.update(
        status=ModelCallStatus.FAILED if failed else ModelCallStatus.DONE,
        input_tokens=usage.input if told else None,
        output_tokens=usage.output if told else None,
        cache_read_tokens=usage.cache_read if told else None,
        cache_write_tokens=usage.cache_write if told else None,
        cost_usd=cost_usd(model, usage, base_url=base_url) if told else None,
        finished_at=timezone.now(),
    )


def mark_lost_as_abandoned() -> int:
    """Mark calls outside turns whose process has died, so that usage shows them; gives their number.

    The calls of a turn are marked by the worker that takes it over.
    """
    # guard: lost-title-calls-are-marked
    outside_turns = Q(conversation=None) | Q(purpose__in=after_turn.PURPOSES)
    lost = ModelCall.objects.filter(
        outside_turns,
        status=ModelCallStatus.STARTED,
        started_at__lt=timezone.now() - LOST_AFTER,
    )
    return lost.update(status=ModelCallStatus.ABANDONED, finished_at=timezone.now())


def complete_rows() -> int:
    """Give rows of workers of a former version their project and agent, so that usage shows them; gives their number."""
    of_call = Conversation.objects.filter(pk=OuterRef("conversation_id"))
    incomplete = ModelCall.objects.filter(project=None, conversation__isnull=False)
    return incomplete.update(
        project_id=Subquery(of_call.values("project_id")),
        agent_id=Subquery(of_call.values("agent_id")),
    )
