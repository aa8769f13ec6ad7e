"""Reads of approvals over all projects of a person."""

from __future__ import annotations

from django.db.models import QuerySet

from paca.accounts.models import User
from paca.conversations.models import Approval
from paca.projects import permissions
from paca.projects.models import Member


def for_person(person: User) -> QuerySet[Approval]:
    """The approvals of the projects in which the person may read conversations and approve calls."""
    memberships = Member.objects.live().filter(user=person, project__deleted_at=None)
    allowed = [
        member.project_id
        for member in memberships.select_related("role")
        if permissions.allows(member, permissions.APPROVE)
        and permissions.allows(member, "conversations:read")
    ]
    # guard: approvals-of-ones-projects
    found = Approval.objects.with_details().filter(conversation__project__in=allowed)
    return found.filter(conversation__deleted_at=None)
