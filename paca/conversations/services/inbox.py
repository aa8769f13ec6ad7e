"""The inbox of a conversation: who may put something in, and how."""

from __future__ import annotations

from typing import Protocol

from django.conf import settings
from django.db import transaction

from paca.agents.models import Agent
from paca.bus import get_bus
from paca.common import disk_space
from paca.common.errors import Conflict
from paca.conversations.models import ControlCommand, Conversation, Trigger, TriggerState
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.projects.models import Member


class AgentUnavailable(Conflict):
    """This agent takes no work now."""

    code = "agent_unavailable"


class Named(Protocol):
    """Whoever gives an order: a member, or an administrator who is none."""

    @property
    def name(self) -> str: ...


def check_agent_available(agent: Agent) -> None:
    """Raises why no new work may be given to this agent now."""
    disk_space.require_space(settings.PACA_DATA_DIR)
    if agent.deleted_at is not None:
        raise AgentUnavailable(f"{agent.name} is retired and takes no new work.")
    if agent.status == Agent.Status.INACTIVE:
        raise AgentUnavailable(f"{agent.name} is inactive. Set it to active to give it work.")


def locked(conversation: Conversation) -> Conversation:
    """The row as it is now, held until the transaction ends."""
    return Conversation.objects.select_related("agent").for_update().get(pk=conversation.pk)


def put(
    current: Conversation,
    kind: str,
    *,
    by: str,
    source: str = "api",
    key: str = "",
    event_seq: int | None = None,
    control: ControlCommand = ControlCommand.NONE,
    actor: Member | None = None,
) -> None:
    """Enter a cause into the inbox, and hint at it once it is certain."""
    trigger = Trigger.objects.create(
        conversation=current,
        kind=kind,
        control=control,
        source=source,
        idempotency_key=key,
        by=by,
        event_seq=event_seq,
    )

    about = _facts(current, control or kind, actor)

    def hint() -> None:
        get_bus().wake(trigger.id, about)
        if current.status in ACTIVE_STATUSES:
            get_bus().signal(current.id)

    transaction.on_commit(hint)


def _facts(current: Conversation, what: str, actor: Member | None) -> dict[str, str]:
    """What the queue says of a trigger. Never what was written: that stands in the log only."""
    facts = {
        "type": f"agent.{what}",
        "trigger_type": current.trigger_type,
        "conversation_id": str(current.pk),
        "agent_id": str(current.agent_id),
        "project_id": str(current.project_id),
    }
    if current.session_id is not None:
        facts["chat_session_id"] = str(current.session_id)
    if actor is not None:
        facts["actor_member_id"] = str(actor.pk)
    return facts


def discard_new_triggers(current: Conversation) -> None:
    Trigger.objects.filter(conversation=current, state=TriggerState.NEW).update(
        state=TriggerState.DONE
    )
