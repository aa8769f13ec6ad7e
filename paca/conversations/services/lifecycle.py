"""Lifecycle commands: stop, pause, resume and continue a conversation."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from paca import events
from paca.common.errors import Conflict
from paca.conversations import store
from paca.conversations.models import ControlCommand, Conversation, ConversationStatus, Trigger
from paca.conversations.models.statuses import ACTIVE_STATUSES, ENDED_STATUSES
from paca.conversations.services.inbox import (
    HasName,
    add_trigger,
    check_agent_available,
    discard_new_triggers,
    lock,
)
from paca.projects.models import Member


@transaction.atomic
def stop(conversation: Conversation, *, by: HasName, source: str = "api", key: str = "") -> None:
    """End the conversation at once. What is stored stays. An ended conversation does not change.

    A stop with a ``key`` takes effect once, even if the conversation has been continued since.
    """
    current = lock(conversation)
    same_key = Trigger.objects.filter(conversation=current, source=source, idempotency_key=key)
    if not key or not same_key.filter(control=ControlCommand.STOP).exists():
        _stop(current, reason="by_person", by=by.name, source=source, key=key)


@transaction.atomic
def stop_agent_conversations(agent_id: UUID, *, by: str) -> None:
    """Stop every conversation of a removed agent that has not ended. ``by``: the name of the remover."""
    unfinished = Conversation.objects.filter(agent=agent_id, deleted_at=None).exclude(
        status__in=ENDED_STATUSES
    )
    for conversation in unfinished.select_related("agent").for_update():
        _stop(conversation, reason="agent_removed", by=by)


def _stop(
    current: Conversation, *, reason: str, by: str, source: str = "api", key: str = ""
) -> None:
    active = current.status in ACTIVE_STATUSES
    if active or key:
        add_trigger(current, reason, by=by, source=source, key=key, control=ControlCommand.STOP)
    if not active:
        discard_new_triggers(current)
    if current.status in (ConversationStatus.QUEUED, ConversationStatus.PAUSED):
        store.append(current.id, events.ConversationStopped(reason=reason, by=by))


@transaction.atomic
def pause(conversation: Conversation, *, by: Member) -> None:
    """Let the running step end, then pause until a message or ``resume``.

    Raises ``Conflict`` if the conversation is not running.
    """
    current = lock(conversation)
    if current.status not in ACTIVE_STATUSES:
        raise Conflict("Only a running conversation can be paused.")
    add_trigger(current, "pause", by=by.name, control=ControlCommand.PAUSE, actor=by)


@transaction.atomic
def resume(conversation: Conversation, *, by: HasName) -> None:
    """Queue a paused conversation again.

    Raises ``Conflict`` if it is not paused, and what ``check_agent_available`` raises.
    """
    current = lock(conversation)
    if current.status != ConversationStatus.PAUSED:
        raise Conflict("This conversation is not paused.")
    _requeue(current, by)


@transaction.atomic
def continue_(conversation: Conversation, *, by: Member) -> None:
    """Queue a paused or ended conversation again, as if the person had asked the agent to go on.

    A running conversation does not change. Raises what ``check_agent_available`` raises.
    """
    current = lock(conversation)
    if current.status not in (*ACTIVE_STATUSES, ConversationStatus.QUEUED):
        _requeue(current, by)


def _requeue(current: Conversation, by: HasName) -> None:
    check_agent_available(current.agent)
    store.append(current.id, events.ConversationQueued(trigger="continue", by=by.name))
    add_trigger(current, "continue", by=by.name, actor=by if isinstance(by, Member) else None)
