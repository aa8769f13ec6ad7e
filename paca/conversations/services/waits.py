"""The end of a conversation's wait for a person: a worker then carries the turn on."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from paca import events
from paca.bus import get_bus
from paca.conversations import store
from paca.conversations.models import Conversation, PersonRequest, RequestState
from paca.projects.services import notifications


def supersede(current: Conversation, *, cause: str, by: str) -> None:
    """End the wait of a locked conversation, because a message or a stop comes first; if it waits.

    The call is not run. In the caller's transaction.
    """
    request = PersonRequest.objects.filter(conversation=current, state=RequestState.OPEN).first()
    if request is None:
        return
    superseded = events.ApprovalSuperseded(
        call_id=request.call_id,
        cause=cause,
        by=by,
        seconds=waited_seconds(request),
        kind=request.kind,
    )
    end(current, request, superseded)


def end(current: Conversation, request: PersonRequest, event: events.Event) -> None:
    """Store what ends the wait of a locked conversation, and wake the workers after the commit."""
    store.append(current.pk, event)
    notifications.settle(f"approval:{request.call_id}")
    facts = {
        "type": "agent.approval",
        "conversation_id": str(current.pk),
        "agent_id": str(current.agent_id),
        "project_id": str(current.project_id),
    }
    transaction.on_commit(lambda: get_bus().wake(request.pk, facts))


def waited_seconds(request: PersonRequest) -> float:
    """How long the call has waited until now."""
    return round(max(0.0, (timezone.now() - request.created_at).total_seconds()), 3)
