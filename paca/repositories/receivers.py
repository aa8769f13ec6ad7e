"""Receivers of the signals of ``paca/projects/signals.py``."""

from typing import Any

from django.dispatch import receiver

from paca.projects.models import Member, Project
from paca.projects.signals import members_changed, project_deleted
from paca.repositories.models import AgentRepositories, GitConnection, Repository


@receiver(members_changed)
def on_members_changed(member: Member, change: str, **_: Any) -> None:
    """Delete the setting of an agent that was removed."""
    is_kept = member.project.deleted_at is None
    if change == "removed" and member.agent_id is not None and is_kept:
        AgentRepositories.objects.filter(agent=member.agent_id).delete()


@receiver(project_deleted)
def on_project_deleted(project: Project, **_: Any) -> None:
    """Delete the repositories and connections of the project with their secrets, and the settings of its agents."""
    repositories = Repository.objects.filter(project=project)
    list(repositories.order_by("pk").select_for_update(no_key=True))  # as an unlink does
    repositories.delete()
    # guard: deleted-project-keeps-no-git-secrets
    GitConnection.objects.filter(project=project).delete()
    AgentRepositories.objects.filter(agent__project=project).delete()
