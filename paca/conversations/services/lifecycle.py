"""Orders to a conversation: stop, pause, resume, go on."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from paca import events
from paca.common.errors import Conflict
from paca.conversations import store
from paca.conversations.models import ControlCommand, Conversation, ConversationStatus, Trigger
from paca.conversations.models.statuses import ACTIVE_STATUSES, ENDED_STATUSES
from paca.conversations.services.inbox import (
    Named,
    check_agent_available,
    discard_new_triggers,
    locked,
    put,
)
from paca.projects.models import Member


@transaction.atomic
def stop(conversation: Conversation, *, by: Named, source: str = "api", key: str = "") -> None:
    """End the run at once, wherever it is; what is stored stays. Ended already: nothing.

    An order with a ``key`` counts once, also if the conversation has been begun again since.
    """
    current = locked(conversation)
    given = Trigger.objects.filter(conversation=current, source=source, idempotency_key=key)
    if not key or not given.filter(control=ControlCommand.STOP).exists():
        _stop(current, reason="by_person", by=by.name, source=source, key=key)


@transaction.atomic
def stop_agent_conversations(agent_id: UUID, *, by: str) -> None:
    """The agent is removed: end whatever it does or has before it."""
    unfinished = Conversation.objects.filter(agent=agent_id, deleted_at=None).exclude(
        status__in=ENDED_STATUSES
    )
    for conversation in unfinished.select_related("agent").for_update():
        _stop(conversation, reason="agent_removed", by=by)


def _stop(
    current: Conversation, *, reason: str, by: str, source: str = "api", key: str = ""
) -> None:
    held = current.status in ACTIVE_STATUSES
    if held or key:
        put(current, reason, by=by, source=source, key=key, control=ControlCommand.STOP)
    if not held:
        discard_new_triggers(current)
    if current.status in (ConversationStatus.QUEUED, ConversationStatus.PAUSED):
        store.append(current.id, events.ConversationStopped(reason=reason, by=by))


@transaction.atomic
def pause(conversation: Conversation, *, by: Member) -> None:
    """Let the step under way end, then stand still until a message or ``resume``."""
    current = locked(conversation)
    if current.status not in ACTIVE_STATUSES:
        raise Conflict("Only a running conversation can be paused.")
    put(current, "pause", by=by.name, control=ControlCommand.PAUSE, actor=by)


@transaction.atomic
def resume(conversation: Conversation, *, by: Named) -> None:
    """Leave ``paused``."""
    current = locked(conversation)
    if current.status != ConversationStatus.PAUSED:
        raise Conflict("This conversation is not paused.")
    _go_on(current, by)


@transaction.atomic
def continue_(conversation: Conversation, *, by: Member) -> None:
    """Go on after any end, as if the person had said so. Running already: nothing."""
    current = locked(conversation)
    if current.status not in (*ACTIVE_STATUSES, ConversationStatus.QUEUED):
        _go_on(current, by)


def _go_on(current: Conversation, by: Named) -> None:
    check_agent_available(current.agent)
    store.append(current.id, events.ConversationQueued(trigger="continue", by=by.name))
    put(current, "continue", by=by.name, actor=by if isinstance(by, Member) else None)
