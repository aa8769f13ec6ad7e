"""Services for invitations: links by which people join a workspace, and a project in a role."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.accounts.models import User
from paca.common.errors import Invalid, NotFound
from paca.projects import permissions
from paca.projects.models import (
    Invitation,
    Member,
    Project,
    Role,
    Workspace,
    WorkspaceMember,
)
from paca.projects.services import members, workspaces

MAX_DAYS = 30


class InvitationNotUsable(NotFound):
    """This invitation is unknown, used, revoked or too old. Ask for a new one."""

    code = "invitation_is_over"


@transaction.atomic
def create(
    workspace: Workspace,
    *,
    by: User,
    role: Role | None = None,
    days: int = 7,
    note: str = "",
) -> tuple[Invitation, str]:
    """Make an invitation, to the project of ``role`` too if there is one. Gives it and its secret.

    The secret is in the link and is stored nowhere. Raises ``Invalid`` if ``days`` is not 1 to 30 or the
    role is of a project of another workspace.
    """
    if not 1 <= days <= MAX_DAYS:
        raise Invalid(fields={"days": [f"Between 1 and {MAX_DAYS}."]})
    if role is not None and role.project.workspace_id != workspace.pk:
        raise Invalid(fields={"role_id": ["This role belongs to another workspace."]})
    secret = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        workspace=workspace,
        project=role.project if role else None,
        role=role,
        secret_sha256=_digest(secret),
        note=note.strip(),
        by=by,
        expires_at=timezone.now() + timedelta(days=days),
    )
    _record("invitation.created", invitation, by=by)
    return invitation, secret


def get_usable(secret: str) -> Invitation:
    """The invitation of a link, which stays unused: programs open links to preview them.

    Raises ``InvitationNotUsable`` if it is unknown, used, revoked or too old, or if the inviter may no
    longer invite to its role.
    """
    found = (
        Invitation.objects.filter(
            secret_sha256=_digest(secret),
            accepted_at=None,
            revoked_at=None,
            expires_at__gt=timezone.now(),
            by__is_active=True,
        )
        .select_related("workspace", "project", "role", "by")
        .first()
    )
    # guard: invitation-needs-the-rights-of-its-inviter
    if found is None or not all(are_valid([found])):
        raise InvitationNotUsable
    return found


def are_valid(found: Sequence[Invitation]) -> list[bool]:
    """Whether the inviter of each could make this invitation now; its link works only then. Asks two queries.

    Asked when a link is used: an owner who was removed would otherwise come back by a link of their
    own, and a link to a role would give what the role was allowed later.
    """
    people = {each.by_id for each in found}
    owners = WorkspaceMember.objects.filter(
        user__in=people, user__is_active=True, role=WorkspaceMember.Role.OWNER
    )
    owned = set(owners.values_list("user_id", "workspace_id"))
    live = Member.objects.live().filter(
        user__in=people, user__is_active=True, project__in={each.project_id for each in found}
    )
    inviters = {
        (member.user_id, member.project_id): member
        for member in live.filter(project__deleted_at=None).select_related("role")
    }
    return [
        (each.by_id, each.workspace_id) in owned
        if each.project_id is None or each.role is None
        else _may_give(inviters.get((each.by_id, each.project_id)), each.role)
        for each in found
    ]


def _may_give(inviter: Member | None, role: Role) -> bool:
    if inviter is None:
        return False
    may = partial(permissions.allows, inviter)
    return may("members:write") and permissions.may_grant(may, role.permissions)


@transaction.atomic
def accept(secret: str, *, user: User) -> Invitation:
    """Let the person join. Of two uses of one link at the same time one succeeds.

    A person who belongs to the workspace or the project already keeps the role that they have there.
    Raises ``InvitationNotUsable`` as ``get_usable`` does, and ``Invalid`` if an agent of the project has
    their username as its handle.
    """
    invitation = get_usable(secret)
    open_ones = Invitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None)
    if not open_ones.update(accepted_at=timezone.now(), accepted_by=user):
        raise InvitationNotUsable
    _record("invitation.accepted", invitation, by=user)
    if not invitation.workspace.members.filter(user=user).exists():
        workspaces.add_person(invitation.workspace, user=user, by=invitation.by)
    if invitation.project is not None and invitation.role is not None:
        _add_to_project(invitation.project, invitation.role, user, by=invitation.by)
    return invitation


def _add_to_project(project: Project, role: Role, user: User, *, by: User) -> None:
    if not Member.objects.live().filter(project=project, user=user).exists():
        members.add_person(project, user=user, role=role, by=by)


@transaction.atomic
def revoke(invitation: Invitation, *, by: User) -> None:
    """End an invitation before it is used. Raises ``InvitationNotUsable`` if it was used meanwhile."""
    open_ones = Invitation.objects.filter(pk=invitation.pk, accepted_at=None)
    if not open_ones.update(revoked_at=timezone.now()):
        raise InvitationNotUsable("This person has joined already. Remove them as a member.")
    _record("invitation.revoked", invitation, by=by)


def _record(action: str, invitation: Invitation, *, by: User) -> None:
    audit.record(
        action,
        invitation.workspace,
        by=by,
        project_id=invitation.project_id,
        invitation=str(invitation.pk),
        role=invitation.role.name if invitation.role else "",
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
