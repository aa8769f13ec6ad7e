"""API views of the roles of a project."""

from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.projects import selectors
from paca.projects.api.base import ProjectView
from paca.projects.api.serializers import RoleInput, RoleSerializer
from paca.projects.services import roles, tasks

REQUIRED_PERMISSIONS = {
    "GET": "roles:read",
    "POST": "roles:write",
    "PATCH": "roles:write",
    "DELETE": "roles:write",
}


class RoleList(ProjectView):
    """Lists and makes roles."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=RoleSerializer(many=True), tags=["roles"])
    def get(self, request: Request) -> Response:
        """List the roles."""
        return NewestFirstPagination.page_response(self.project.roles.all(), self, RoleSerializer)

    @extend_schema(request=RoleInput, responses={201: RoleSerializer}, tags=["roles"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a role. It can only have permissions that you have."""
        given = RoleInput.read(request)
        self.require_may_grant_all(given["permissions"])
        role = roles.create(self.project, by=self.member, **given)
        return Response(RoleSerializer(role).data, status=201)


class RoleDetail(ProjectView):
    """Shows, changes and deletes a role."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=RoleSerializer, tags=["roles"])
    def get(self, request: Request, role_id: UUID) -> Response:
        """Show a role."""
        return Response(RoleSerializer(selectors.get_role(self.project, role_id)).data)

    @extend_schema(request=RoleInput, responses=RoleSerializer, tags=["roles"])
    def patch(self, request: Request, role_id: UUID) -> Response:
        """Change the name or the permissions of a role. The answer 412 to `If-Match` has the present role
        as `present`."""
        given = RoleInput.read(request, partial=True)
        with transaction.atomic():
            tasks.lock_project(self.project.pk)
            role = selectors.get_role(self.project, role_id)
            require_unchanged(request, role, present=lambda: RoleSerializer(role).data)
            self.require_may_grant(role)
            self.require_may_grant_all(given.get("permissions", []))
            roles.change(role, by=self.member, **given)
        return Response(RoleSerializer(role).data)

    @extend_schema(responses={204: None}, tags=["roles"])
    def delete(self, request: Request, role_id: UUID) -> Response:
        """Delete a role that no member has or had."""
        roles.delete(selectors.get_role(self.project, role_id), by=self.member)
        return self.no_content()
