"""Reads control commands (stop, interrupt, pause) from the inbox, as requests to running conversations."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from paca.conversations.models import ControlCommand, Trigger, TriggerState
from paca.worker.control_protocol import Action, ControlRequest


def pending_requests(conversations: Collection[UUID]) -> list[tuple[UUID, ControlRequest]]:
    """New control commands of these conversations, each with its conversation, the oldest first."""
    if not conversations:
        return []
    commands = (
        Trigger.objects.filter(conversation__in=conversations, state=TriggerState.NEW)
        .exclude(control=ControlCommand.NONE)
        .order_by("created_at")
    )
    return [(trigger.conversation_id, _request(trigger)) for trigger in commands]


def _request(trigger: Trigger) -> ControlRequest:
    reason = "agent_removed" if trigger.kind == "agent_removed" else "by_person"
    return ControlRequest(Action(trigger.control), trigger.id, trigger.by, reason)
