"""Brings orders (stop, interrupt, pause) from the inbox to the runs they are for."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from paca.conversations.models import Control, Trigger, TriggerState
from paca.worker.turns import Order


def orders_for(conversations: Collection[UUID]) -> list[tuple[UUID, Order]]:
    """Orders that wait in the inboxes of these conversations, in the order they were given."""
    if not conversations:
        return []
    waiting = (
        Trigger.objects.filter(conversation__in=conversations, state=TriggerState.NEW)
        .exclude(control=Control.NONE)
        .order_by("created_at")
    )
    return [
        (trigger.conversation_id, Order(Control(trigger.control), trigger.by))
        for trigger in waiting.only("conversation_id", "control", "by")
    ]
