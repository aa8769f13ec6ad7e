"""API views of the members of a project."""

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
from paca.projects.api.serializers import MemberInput, MemberRoleInput, MemberSerializer
from paca.projects.services import members, tasks

REQUIRED_PERMISSIONS = {
    "GET": "members:read",
    "POST": "members:write",
    "PATCH": "members:write",
    "DELETE": "members:write",
}


class MemberList(ProjectView):
    """Lists members and adds people."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=MemberSerializer(many=True), tags=["members"])
    def get(self, request: Request) -> Response:
        """List people and agents."""
        return NewestFirstPagination.page_response(
            self.project.members.live().with_names(), self, MemberSerializer
        )

    @extend_schema(request=MemberInput, responses={201: MemberSerializer}, tags=["members"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Add a person of the workspace. An agent is a member from its creation."""
        given = MemberInput.read(request)
        role = selectors.get_role(self.project, given["role_id"])
        self.require_may_grant(role)
        person = selectors.get_workspace_person(self.project, given["username"])
        member = members.add_person(self.project, user=person, role=role, by=self.member)
        return Response(MemberSerializer(member).data, status=201)


class MemberDetail(ProjectView):
    """Shows, changes and removes a member."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=MemberSerializer, tags=["members"])
    def get(self, request: Request, member_id: UUID) -> Response:
        """Show a member."""
        return Response(MemberSerializer(selectors.get_member(self.project, member_id)).data)

    @extend_schema(request=MemberRoleInput, responses=MemberSerializer, tags=["members"])
    def patch(self, request: Request, member_id: UUID) -> Response:
        """Change the role of a member. The answer 412 to `If-Match` has the present member as `present`."""
        given = MemberRoleInput.read(request)
        with transaction.atomic():
            tasks.lock_project(self.project.pk)
            member = selectors.get_member(self.project, member_id)
            role = selectors.get_role(self.project, given["role_id"])
            require_unchanged(request, member, present=lambda: MemberSerializer(member).data)
            self.require_may_grant(member.role)
            self.require_may_grant(role)
            members.change_role(member, role=role, by=self.member)
        return Response(MemberSerializer(member).data)

    @extend_schema(responses={204: None}, tags=["members"])
    def delete(self, request: Request, member_id: UUID) -> Response:
        """Remove a person from the project."""
        with transaction.atomic():
            member = selectors.get_member(self.project, member_id)
            self.require_may_grant(member.role)
            members.remove(member, by=self.member)
        return self.no_content()
