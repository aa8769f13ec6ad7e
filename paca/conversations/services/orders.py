"""Orders to a conversation: stop, pause, resume, go on."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from paca import events
from paca.common.errors import Conflict
from paca.conversations import store
from paca.conversations.models import Control, Conversation, Status
from paca.conversations.models.conversation import ENDED, HELD
from paca.conversations.services.inbox import Named, check_agent, drop_waiting, locked, put
from paca.projects.models import Member


@transaction.atomic
def stop(conversation: Conversation, *, by: Named) -> None:
    """End the run at once, wherever it is; what is stored stays. Ended already: nothing."""
    _stop(locked(conversation), reason="by_person", by=by.name)


@transaction.atomic
def stop_all_of(agent_id: UUID, *, by: str) -> None:
    """The agent is removed: end whatever it does or has before it."""
    unfinished = Conversation.objects.filter(agent=agent_id, deleted_at=None).exclude(
        status__in=ENDED
    )
    for conversation in unfinished.select_related("agent").select_for_update(of=("self",)):
        _stop(conversation, reason="agent_removed", by=by)


def _stop(current: Conversation, *, reason: str, by: str) -> None:
    if current.status in HELD:
        put(current, reason, by=by, control=Control.STOP)
    elif current.status in (Status.QUEUED, Status.PAUSED):
        drop_waiting(current)
        store.append(current.id, events.ConversationStopped(reason=reason, by=by))


@transaction.atomic
def pause(conversation: Conversation, *, by: Member) -> None:
    """Let the step under way end, then stand still until a message or ``resume``."""
    current = locked(conversation)
    if current.status not in HELD:
        raise Conflict("Only a running conversation can be paused.")
    put(current, "pause", by=by.name, control=Control.PAUSE)


@transaction.atomic
def resume(conversation: Conversation, *, by: Member) -> None:
    """Leave ``paused``."""
    current = locked(conversation)
    if current.status != Status.PAUSED:
        raise Conflict("This conversation is not paused.")
    _go_on(current, by)


@transaction.atomic
def continue_(conversation: Conversation, *, by: Member) -> None:
    """Go on after any end, as if the person had said so. Running already: nothing."""
    current = locked(conversation)
    if current.status not in (*HELD, Status.QUEUED):
        _go_on(current, by)


def _go_on(current: Conversation, by: Member) -> None:
    check_agent(current.agent)
    store.append(current.id, events.ConversationQueued(trigger="continue", by=by.name))
    put(current, "continue", by=by.name)
