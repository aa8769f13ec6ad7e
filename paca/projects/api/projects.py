"""API views of the signed-in person's projects."""

from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.accounts.api.idempotency import idempotent
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.common.errors import Invalid
from paca.projects import selectors
from paca.projects.api.base import ProjectView
from paca.projects.api.serializers import NewProjectInput, ProjectInput, ProjectSerializer
from paca.projects.models import Project, Workspace
from paca.projects.services import projects

WORKSPACE = OpenApiParameter(
    "X-Workspace-ID", UUID, OpenApiParameter.HEADER, description="Only projects of this workspace."
)


class ProjectList(ApiView):
    """Lists and makes projects."""

    required_permission = {"GET": "projects:read", "POST": "projects:write"}

    @extend_schema(
        parameters=[WORKSPACE], responses=ProjectSerializer(many=True), tags=["projects"]
    )
    def get(self, request: Request) -> Response:
        """List the projects you are a member of."""
        found = Project.objects.for_person(self.person)
        if wanted := request.headers.get("X-Workspace-ID"):
            found = found.filter(workspace=selectors.get_workspace(self.person, wanted))
        return NewestFirstPagination.page_response(found, self, ProjectSerializer)

    @extend_schema(
        parameters=[WORKSPACE],
        request=NewProjectInput,
        responses={201: ProjectSerializer},
        tags=["projects"],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a project. You become its owner."""
        given = NewProjectInput.read(request)
        wanted = given.pop("workspace_id", None) or request.headers.get("X-Workspace-ID")
        project = projects.create(self._workspace(wanted), by=self.person, **given)
        return Response(ProjectSerializer(project).data, status=201)

    def _workspace(self, wanted: UUID | str | None) -> Workspace:
        if wanted is not None:
            return selectors.get_workspace(self.person, wanted)
        mine = Workspace.objects.for_person(self.person)[:2]
        if len(mine) != 1:
            raise Invalid(
                fields={"workspace_id": ["Name the workspace: you have none or several."]}
            )
        return mine[0]


class ProjectDetail(ProjectView):
    """Shows, changes and deletes a project."""

    required_permission = {
        "GET": "projects:read",
        "PATCH": "projects:write",
        "DELETE": "projects:delete",
    }

    @extend_schema(responses=ProjectSerializer, tags=["projects"])
    def get(self, request: Request) -> Response:
        """Show the project."""
        return Response(ProjectSerializer(self.project).data)

    @extend_schema(request=ProjectInput, responses=ProjectSerializer, tags=["projects"])
    def patch(self, request: Request) -> Response:
        """Change the name, the prefix, the description or the budget of the project. The answer 412 to `If-Match` has
        the present project as `present`."""
        given = ProjectInput.read(request, partial=True)
        with transaction.atomic():
            project = Project.objects.select_for_update(no_key=True).get(pk=self.project.pk)
            require_unchanged(request, project, present=lambda: ProjectSerializer(project).data)
            projects.change(project, by=self.member, **given)
        return Response(ProjectSerializer(project).data)

    @extend_schema(responses={204: None}, tags=["projects"])
    def delete(self, request: Request) -> Response:
        """Delete the project for all members."""
        projects.delete(self.project, by=self.member)
        return self.no_content()
