"""Receivers of the signals of ``paca/projects/signals.py``."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.dispatch import receiver

from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.conversations import services
from paca.projects.models import Member
from paca.projects.signals import members_changed, project_changed


@receiver(members_changed)
def on_members_changed(member: Member, change: str, by: Any, **_: Any) -> None:
    """Stop the conversations of a removed agent, and tell open pages to check their permission again."""
    if change == "removed" and member.agent_id is not None:
        services.stop_agent_conversations(
            member.agent_id, by=getattr(by, "name", "") or str(by or "")
        )
    _tell_pages(member.project_id, "member", member.pk)


@receiver(project_changed)
def on_project_changed(
    project_id: UUID,
    noun: str,
    id: Any,  # the frame's
    facts: dict[str, Any] | None = None,
    **_: Any,
) -> None:
    """Tell open pages of the project that something changed which they may show."""
    _tell_pages(project_id, noun, id, **(facts or {}))


def _tell_pages(project_id: UUID, noun: str, key: Any, **facts: Any) -> None:
    frame = {"type": f"{noun}.changed", "id": str(key), "version": 0, **facts}
    topic = project_topic(project_id)
    transaction.on_commit(lambda: get_bus().live(topic, frame))
