"""Receives the signals of ``paca/projects/signals.py``: what happens here when members change."""

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
    """A removed agent stops; open pages of the project look again whether they may be open."""
    if change == "removed" and member.agent_id is not None:
        services.stop_agent_conversations(
            member.agent_id, by=getattr(by, "name", "") or str(by or "")
        )
    frame = {"type": "member.changed", "id": str(member.pk), "version": 0}
    topic = project_topic(member.project_id)
    transaction.on_commit(lambda: get_bus().live(topic, frame))
