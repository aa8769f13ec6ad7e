"""Brings orders (stop, interrupt, pause) from the inbox to the runs they are for."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from paca.conversations.models import ControlCommand, Trigger, TriggerState
from paca.worker.turns import Order


def orders_for(conversations: Collection[UUID]) -> list[tuple[UUID, Order]]:
    """Orders that wait in the inboxes of these conversations, in the order they were given."""
    if not conversations:
        return []
    waiting = (
        Trigger.objects.filter(conversation__in=conversations, state=TriggerState.NEW)
        .exclude(control=ControlCommand.NONE)
        .order_by("created_at")
    )
    return [(trigger.conversation_id, _order(trigger)) for trigger in waiting]


def _order(trigger: Trigger) -> Order:
    reason = "agent_removed" if trigger.kind == "agent_removed" else "by_person"
    return Order(trigger.id, ControlCommand(trigger.control), trigger.by, reason)
