"""Receivers of the signals of ``paca/projects/signals.py``."""

from typing import Any

from django.dispatch import receiver

from paca.projects.models import Member
from paca.projects.signals import members_changed
from paca.repositories.models import AgentRepositories, GitConnection, Repository


@receiver(members_changed)
def on_members_changed(member: Member, change: str, **_: Any) -> None:
    """Delete the setting of a removed agent; and with a project its repositories, connections and their secrets."""
    if change == "removed" and member.agent_id is not None:
        AgentRepositories.objects.filter(agent=member.agent_id).delete()
    # guard: deleted-project-keeps-no-git-secrets
    if member.project.deleted_at is not None:
        Repository.objects.filter(project=member.project_id).delete()
        GitConnection.objects.filter(project=member.project_id).delete()
