"""The page of a workspace: its people, and the invitations to it."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from paca.common.errors import NotFound
from paca.projects import selectors
from paca.projects.models import Invitation, Workspace, WorkspaceMember


@require_safe
@login_required
def workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """The people of a workspace for everybody in it; its owners invite, change and remove them.

    Raises ``Http404`` for people of other workspaces.
    """
    person: Any = request.user
    try:
        found = selectors.get_workspace(person, workspace_id)
    except NotFound:
        raise Http404 from None
    people = list(found.members.select_related("user").order_by("created_at", "id"))
    is_owner = any(
        each.user_id == person.pk and each.role == WorkspaceMember.Role.OWNER for each in people
    )
    context = {
        "workspace": found,
        "people": people,
        "roles": WorkspaceMember.Role.values,
        "is_owner": is_owner,
        "invitations": _open_invitations(found) if is_owner else [],
    }
    return render(request, "web/workspace.html", context)


def _open_invitations(found: Workspace) -> list[Invitation]:
    fresh = found.invitations.filter(
        accepted_at=None, revoked_at=None, expires_at__gt=timezone.now()
    )
    return list(fresh.select_related("project", "role", "by"))
