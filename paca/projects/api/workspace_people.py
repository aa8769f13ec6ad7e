"""API views of the people of a workspace."""

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.common.api.serializers import InputSerializer
from paca.common.errors import NotFound
from paca.projects import selectors
from paca.projects.api.invitations import WorkspaceOwnerView
from paca.projects.models import Workspace, WorkspaceMember
from paca.projects.services import workspaces


class WorkspacePersonSerializer(serializers.ModelSerializer[WorkspaceMember]):
    """A person of a workspace."""

    username = serializers.CharField(source="user.username")
    name = serializers.CharField(source="user.get_full_name")

    class Meta:
        model = WorkspaceMember
        fields = ("id", "username", "name", "role", "created_at", "updated_at")


class WorkspaceRoleInput(InputSerializer):
    """The input to change the role of a person in the workspace."""

    role = serializers.ChoiceField(choices=WorkspaceMember.Role.choices)


class WorkspacePeople(ApiView):
    """Lists the people of a workspace."""

    required_permission = {"GET": "members:read"}

    @extend_schema(responses=WorkspacePersonSerializer(many=True), tags=["members"])
    def get(self, request: Request, workspace_id: UUID) -> Response:
        """List the people of a workspace that you belong to."""
        workspace = selectors.get_workspace(self.person, workspace_id)
        return NewestFirstPagination.page_response(
            workspace.members.select_related("user"), self, WorkspacePersonSerializer
        )


class WorkspacePerson(WorkspaceOwnerView):
    """Changes and removes a person of a workspace."""

    required_permission = {"PATCH": "members:write", "DELETE": "members:write"}

    @extend_schema(
        request=WorkspaceRoleInput, responses=WorkspacePersonSerializer, tags=["members"]
    )
    def patch(self, request: Request, workspace_id: UUID, entry_id: UUID) -> Response:
        """Make a person an owner of the workspace, or a plain member. The answer 412 to `If-Match` has the
        present entry as `present`."""
        given: dict[str, Any] = WorkspaceRoleInput.read(request)
        with transaction.atomic():
            workspaces.lock(workspace_id)
            entry = _get(self.get_workspace(workspace_id), entry_id)
            require_unchanged(request, entry, present=lambda: WorkspacePersonSerializer(entry).data)
            workspaces.change_role(entry, role=given["role"], by=self.person)
        return Response(WorkspacePersonSerializer(entry).data)

    @extend_schema(responses={204: None}, tags=["members"])
    def delete(self, request: Request, workspace_id: UUID, entry_id: UUID) -> Response:
        """Remove a person from the workspace and from all its projects."""
        with transaction.atomic():
            entry = _get(self.get_workspace(workspace_id), entry_id)
            workspaces.remove_person(entry, by=self.person)
        return Response(status=204)


def _get(workspace: Workspace, entry_id: UUID) -> WorkspaceMember:
    entry = workspace.members.select_related("user", "workspace").filter(pk=entry_id).first()
    if entry is None:
        raise NotFound
    return entry
