"""API views of the signed-in person's workspaces."""

from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.common.errors import NotAllowed
from paca.projects import selectors
from paca.projects.api.serializers import WorkspaceInput, WorkspaceSerializer
from paca.projects.models import Workspace
from paca.projects.services import workspaces

REQUIRED_PERMISSIONS = {"GET": "projects:read", "PATCH": "projects:write"}


class WorkspaceList(ApiView):
    """Lists workspaces."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=WorkspaceSerializer(many=True), tags=["projects"])
    def get(self, request: Request) -> Response:
        """List the workspaces you belong to."""
        return NewestFirstPagination.page_response(
            Workspace.objects.for_person(self.person), self, WorkspaceSerializer
        )


class WorkspaceDetail(ApiView):
    """Shows and renames a workspace."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=WorkspaceSerializer, tags=["projects"])
    def get(self, request: Request, workspace_id: UUID) -> Response:
        """Show a workspace."""
        return Response(
            WorkspaceSerializer(selectors.get_workspace(self.person, workspace_id)).data
        )

    @extend_schema(request=WorkspaceInput, responses=WorkspaceSerializer, tags=["projects"])
    def patch(self, request: Request, workspace_id: UUID) -> Response:
        """Rename a workspace. Only its owners may. The answer 412 to `If-Match` has the present workspace
        as `present`."""
        with transaction.atomic():
            workspaces.lock(workspace_id)
            workspace = selectors.get_workspace(self.person, workspace_id)
            if not selectors.is_workspace_owner(self.person, workspace):
                raise NotAllowed("Only an owner of the workspace may rename it.")
            given = WorkspaceInput.read(request)
            require_unchanged(
                request, workspace, present=lambda: WorkspaceSerializer(workspace).data
            )
            workspaces.rename(workspace, by=self.person, **given)
        return Response(WorkspaceSerializer(workspace).data)
