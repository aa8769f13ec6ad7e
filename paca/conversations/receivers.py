"""Receivers of the signals of ``paca/projects/signals.py``."""

from typing import Any

from django.db import transaction
from django.dispatch import receiver

from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.conversations import services
from paca.projects.models import Member
from paca.projects.signals import members_changed


@receiver(members_changed)
def on_members_changed(member: Member, change: str, by: Any, **_: Any) -> None:
    """Stop the conversations of a removed agent, and tell open pages to check their permission again."""
    if change == "removed" and member.agent_id is not None:
        services.stop_agent_conversations(
            member.agent_id, by=getattr(by, "name", "") or str(by or "")
        )
    frame = {"type": "member.changed", "id": str(member.pk), "version": 0}
    topic = project_topic(member.project_id)
    transaction.on_commit(lambda: get_bus().live(topic, frame))
