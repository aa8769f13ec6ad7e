"""API views of sprints."""

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
from paca.projects.api.task_inputs import CompletionInput, SprintInput
from paca.projects.api.task_serializers import (
    CompletionSerializer,
    SprintSerializer,
)
from paca.projects.services import sprints, tasks

REQUIRED_PERMISSIONS = {
    "GET": "tasks:read",
    "POST": "tasks:write",
    "PATCH": "tasks:write",
    "DELETE": "tasks:write",
}


class SprintList(ProjectView):
    """Lists and makes sprints."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=SprintSerializer(many=True), tags=["tasks"])
    def get(self, request: Request) -> Response:
        """List the sprints."""
        return NewestFirstPagination.page_response(
            self.project.sprints.all(), self, SprintSerializer
        )

    @extend_schema(request=SprintInput, responses={201: SprintSerializer}, tags=["tasks"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a planned sprint."""
        given = SprintInput.read(request)
        sprint = sprints.create(self.project, by=self.member, **given)
        return Response(SprintSerializer(sprint).data, status=201)


class SprintDetail(ProjectView):
    """Shows, changes and deletes a sprint."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=SprintSerializer, tags=["tasks"])
    def get(self, request: Request, sprint_id: UUID) -> Response:
        """Show a sprint."""
        return Response(SprintSerializer(selectors.get_sprint(self.project, sprint_id)).data)

    @extend_schema(request=SprintInput, responses=SprintSerializer, tags=["tasks"])
    def patch(self, request: Request, sprint_id: UUID) -> Response:
        """Change the name, the goal or the dates of a sprint."""
        given = SprintInput.read(request, partial=True)
        with transaction.atomic():
            tasks.lock_project(self.project.pk)
            sprint = selectors.get_sprint(self.project, sprint_id)
            require_unchanged(request, sprint, present=lambda: SprintSerializer(sprint).data)
            sprints.change(sprint, by=self.member, **given)
        return Response(SprintSerializer(sprint).data)

    @extend_schema(responses={204: None}, tags=["tasks"])
    def delete(self, request: Request, sprint_id: UUID) -> Response:
        """Delete a sprint. Its tasks stay, in no sprint."""
        sprints.delete(selectors.get_sprint(self.project, sprint_id), by=self.member)
        return self.no_content()


class SprintStart(ProjectView):
    """Starts a sprint."""

    required_permission = "tasks:write"

    @extend_schema(request=None, responses=SprintSerializer, tags=["tasks"])
    @idempotent
    def post(self, request: Request, sprint_id: UUID) -> Response:
        """Make a planned sprint active. Several sprints may be active."""
        sprint = sprints.start(selectors.get_sprint(self.project, sprint_id), by=self.member)
        return Response(SprintSerializer(sprint).data)


class SprintComplete(ProjectView):
    """Completes a sprint."""

    required_permission = "tasks:write"

    @extend_schema(request=CompletionInput, responses=CompletionSerializer, tags=["tasks"])
    @idempotent
    def post(self, request: Request, sprint_id: UUID) -> Response:
        """End an active sprint. Its open tasks go to the named sprint, or to none."""
        wanted = CompletionInput.read(request).get("move_to_id")
        sprint = selectors.get_sprint(self.project, sprint_id)
        target = wanted and selectors.get_sprint(self.project, wanted)
        moved = sprints.complete(sprint, move_to=target, by=self.member)
        return Response({"sprint": SprintSerializer(sprint).data, "moved": moved})
