"""API views of the invitations to a project or a workspace."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from paca.accounts.api.base import ApiView
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.serializers import InputSerializer
from paca.common.errors import NotAllowed, NotFound
from paca.projects import selectors
from paca.projects.api.base import ProjectView
from paca.projects.models import Invitation, Workspace
from paca.projects.services import invitations


class InvitationListSerializer(serializers.ListSerializer[Any]):
    """A page of invitations, whose validity is asked for all of them at once."""

    def to_representation(self, data: Any) -> list[Any]:
        found = list(data)
        for invitation, valid in zip(found, invitations.are_valid(found), strict=True):
            invitation.valid = valid
        return super().to_representation(found)


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    """An open invitation. Its link is shown only once, when it is made."""

    valid = serializers.BooleanField(
        help_text="False if its link does not work, because who made it may not invite to this any more."
    )
    role = serializers.CharField(source="role.name", default="")
    by = serializers.CharField(source="by.username")

    class Meta:
        model = Invitation
        list_serializer_class = InvitationListSerializer
        fields: tuple[str, ...] = (
            "id",
            "project_id",
            "role_id",
            "role",
            "note",
            "by",
            "valid",
            "created_at",
            "expires_at",
        )


class NewInvitationSerializer(InvitationSerializer):
    """A new invitation with its link. The link works once."""

    link = serializers.CharField()

    class Meta(InvitationSerializer.Meta):
        fields: tuple[str, ...] = (*InvitationSerializer.Meta.fields, "link")


class InvitationInput(InputSerializer):
    """The input for an invitation to a workspace."""

    days = serializers.IntegerField(required=False, help_text="How long the link works.")
    note = serializers.CharField(
        required=False, allow_blank=True, max_length=200, help_text="For your own list."
    )


class ProjectInvitationInput(InvitationInput):
    """The input for an invitation to a project."""

    role_id = serializers.UUIDField()


def _open(found: QuerySet[Invitation]) -> QuerySet[Invitation]:
    fresh = found.filter(accepted_at=None, revoked_at=None, expires_at__gt=timezone.now())
    return fresh.select_related("role", "by")


def _answer(request: Request, invitation: Invitation, secret: str) -> Response:
    invitation.valid = True  # type: ignore[attr-defined]
    invitation.link = reverse("join", args=[secret], request=request)  # type: ignore[attr-defined]
    return Response(NewInvitationSerializer(invitation).data, status=201)


class ProjectInvitationList(ProjectView):
    """Lists and makes invitations to a project."""

    required_permission = {"GET": "members:write", "POST": "members:write"}

    @extend_schema(responses=InvitationSerializer(many=True), tags=["members"])
    def get(self, request: Request) -> Response:
        """List the invitations that are not used, revoked or too old."""
        found = _open(self.project.invitations.all())
        return NewestFirstPagination.page_response(found, self, InvitationSerializer)

    # Not idempotent by key: an answer is kept for that, and this one has a secret.
    @extend_schema(
        request=ProjectInvitationInput, responses={201: NewInvitationSerializer}, tags=["members"]
    )
    def post(self, request: Request) -> Response:
        """Invite a person by a link. They join the project's workspace too."""
        given: dict[str, Any] = ProjectInvitationInput.read(request)
        role = selectors.get_role(self.project, given.pop("role_id"))
        self.require_may_grant(role)
        made = invitations.create(self.project.workspace, role=role, by=self.person, **given)
        return _answer(request, *made)


class ProjectInvitationDetail(ProjectView):
    """Revokes an invitation to a project."""

    required_permission = {"DELETE": "members:write"}

    @extend_schema(responses={204: None}, tags=["members"])
    def delete(self, request: Request, invitation_id: UUID) -> Response:
        """Revoke an invitation; its link stops working."""
        invitations.revoke(
            _get(_open(self.project.invitations.all()), invitation_id), by=self.person
        )
        return self.no_content()


class WorkspaceOwnerView(ApiView):
    """The base of views for the owners of a workspace."""

    def get_workspace(self, workspace_id: UUID) -> Workspace:
        """Raises ``NotFound`` for people of other workspaces, and ``NotAllowed`` for those who own it not."""
        workspace = selectors.get_workspace(self.person, workspace_id)
        if not selectors.is_workspace_owner(self.person, workspace):
            raise NotAllowed("Only an owner of the workspace may do this.")
        return workspace


class WorkspaceInvitationList(WorkspaceOwnerView):
    """Lists and makes invitations to a workspace."""

    required_permission = {"GET": "members:write", "POST": "members:write"}

    @extend_schema(responses=InvitationSerializer(many=True), tags=["members"])
    def get(self, request: Request, workspace_id: UUID) -> Response:
        """List the invitations that are not used, revoked or too old."""
        found = _open(self.get_workspace(workspace_id).invitations.all())
        return NewestFirstPagination.page_response(found, self, InvitationSerializer)

    @extend_schema(
        request=InvitationInput, responses={201: NewInvitationSerializer}, tags=["members"]
    )
    def post(self, request: Request, workspace_id: UUID) -> Response:
        """Invite a person to the workspace by a link."""
        given: dict[str, Any] = InvitationInput.read(request)
        made = invitations.create(self.get_workspace(workspace_id), by=self.person, **given)
        return _answer(request, *made)


class WorkspaceInvitationDetail(WorkspaceOwnerView):
    """Revokes an invitation to a workspace."""

    required_permission = {"DELETE": "members:write"}

    @extend_schema(responses={204: None}, tags=["members"])
    def delete(self, request: Request, workspace_id: UUID, invitation_id: UUID) -> Response:
        """Revoke an invitation; its link stops working."""
        found = _open(self.get_workspace(workspace_id).invitations.all())
        invitations.revoke(_get(found, invitation_id), by=self.person)
        return Response(status=204)


def _get(found: QuerySet[Invitation], invitation_id: UUID) -> Invitation:
    invitation = found.filter(pk=invitation_id).first()
    if invitation is None:
        raise NotFound
    return invitation
