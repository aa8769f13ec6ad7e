"""Reads of requests to people over all projects of a person."""

from __future__ import annotations

from django.db.models import Q

from paca.accounts.models import User
from paca.conversations.models.person_requests import PersonRequest, PersonRequestQuerySet
from paca.conversations.services.person_requests import PERMISSIONS
from paca.projects import permissions
from paca.projects.models import Member


def for_person(person: User) -> PersonRequestQuerySet:
    """The requests of the projects in which the person may read conversations, of the kinds that they may decide."""
    memberships = Member.objects.live().filter(user=person, project__deleted_at=None)
    may_read = [
        member
        for member in memberships.select_related("role")
        if permissions.allows(member, "conversations:read")
    ]
    allowed = Q(pk=None)
    for kind, permission in PERMISSIONS.items():
        projects = [each.project_id for each in may_read if permissions.allows(each, permission)]
        allowed |= Q(kind=kind, conversation__project__in=projects)
    # guard: approvals-of-ones-projects
    found = PersonRequest.objects.with_details().filter(allowed)
    return found.filter(conversation__deleted_at=None)
