"""API views of the statuses and types of tasks, and of labels."""

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.common.api.preconditions import require_unchanged
from paca.common.errors import NotFound
from paca.projects import selectors
from paca.projects.api.base import ProjectView
from paca.projects.api.task_inputs import OrderInput, ReplacementQuery, StatusInput, TaskTypeInput
from paca.projects.api.task_serializers import (
    LabelSerializer,
    OldestFirstPagination,
    StatusSerializer,
    TaskTypeSerializer,
)
from paca.projects.models import TaskStatus, TaskType
from paca.projects.services import statuses, tasks

Row = TypeVar("Row", TaskStatus, TaskType)

# They are settings of the project: a member who writes tasks does not change them.
REQUIRED_PERMISSIONS = {
    "GET": "tasks:read",
    "POST": "projects:write",
    "PATCH": "projects:write",
    "DELETE": "projects:write",
}


class StatusList(ProjectView):
    """Lists, adds and orders statuses."""

    required_permission = REQUIRED_PERMISSIONS
    takes_if_match = False

    @extend_schema(responses=StatusSerializer(many=True), tags=["tasks"])
    def get(self, request: Request) -> Response:
        """List the statuses in the order of the board; all of them on one page."""
        return _all(StatusSerializer(self.project.statuses.all(), many=True))

    @extend_schema(request=StatusInput, responses={201: StatusSerializer}, tags=["tasks"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Add a status behind the others."""
        given = StatusInput.read(request)
        status = statuses.add_status(self.project, by=self.member, **given)
        return Response(StatusSerializer(status).data, status=201)

    @extend_schema(
        operation_id="projects_statuses_reorder",
        request=OrderInput,
        responses=StatusSerializer(many=True),
        tags=["tasks"],
    )
    def patch(self, request: Request) -> Response:
        """Put all statuses in another order. New tasks get the first one."""
        rows = _in_order(self.project.statuses.all(), OrderInput.read(request)["ids"])
        statuses.reorder(self.project, rows, by=self.member)
        return self.get(request)


class StatusDetail(ProjectView):
    """Shows, changes and deletes a status."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=StatusSerializer, tags=["tasks"])
    def get(self, request: Request, status_id: UUID) -> Response:
        """Show a status."""
        return Response(StatusSerializer(selectors.get_status(self.project, status_id)).data)

    @extend_schema(request=StatusInput, responses=StatusSerializer, tags=["tasks"])
    def patch(self, request: Request, status_id: UUID) -> Response:
        """Change the name or the category of a status."""
        given = StatusInput.read(request, partial=True)
        with transaction.atomic():
            tasks.lock_project(self.project.pk)
            status = selectors.get_status(self.project, status_id)
            require_unchanged(request, status, present=lambda: StatusSerializer(status).data)
            statuses.change(status, by=self.member, **given)
        return Response(StatusSerializer(status).data)

    @extend_schema(parameters=[ReplacementQuery], responses={204: None}, tags=["tasks"])
    def delete(self, request: Request, status_id: UUID) -> Response:
        """Delete a status. If tasks have it, `replacement_id` names what they get."""
        wanted = ReplacementQuery.read_query(request).get("replacement_id")
        status = selectors.get_status(self.project, status_id)
        replacement = wanted and selectors.get_status(self.project, wanted)
        statuses.delete(status, replacement=replacement, by=self.member)
        return self.no_content()


class TaskTypeList(ProjectView):
    """Lists, adds and orders task types."""

    required_permission = REQUIRED_PERMISSIONS
    takes_if_match = False

    @extend_schema(responses=TaskTypeSerializer(many=True), tags=["tasks"])
    def get(self, request: Request) -> Response:
        """List the task types in their order; all of them on one page."""
        return _all(TaskTypeSerializer(self.project.task_types.all(), many=True))

    @extend_schema(request=TaskTypeInput, responses={201: TaskTypeSerializer}, tags=["tasks"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Add a task type behind the others."""
        given = TaskTypeInput.read(request)
        kind = statuses.add_type(self.project, by=self.member, **given)
        return Response(TaskTypeSerializer(kind).data, status=201)

    @extend_schema(
        operation_id="projects_task_types_reorder",
        request=OrderInput,
        responses=TaskTypeSerializer(many=True),
        tags=["tasks"],
    )
    def patch(self, request: Request) -> Response:
        """Put all task types in another order. New tasks get the first one."""
        rows = _in_order(self.project.task_types.all(), OrderInput.read(request)["ids"])
        statuses.reorder(self.project, rows, by=self.member)
        return self.get(request)


class TaskTypeDetail(ProjectView):
    """Shows, changes and deletes a task type."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=TaskTypeSerializer, tags=["tasks"])
    def get(self, request: Request, type_id: UUID) -> Response:
        """Show a task type."""
        return Response(TaskTypeSerializer(selectors.get_type(self.project, type_id)).data)

    @extend_schema(request=TaskTypeInput, responses=TaskTypeSerializer, tags=["tasks"])
    def patch(self, request: Request, type_id: UUID) -> Response:
        """Change the name of a task type."""
        given = TaskTypeInput.read(request, partial=True)
        with transaction.atomic():
            tasks.lock_project(self.project.pk)
            kind = selectors.get_type(self.project, type_id)
            require_unchanged(request, kind, present=lambda: TaskTypeSerializer(kind).data)
            statuses.change(kind, by=self.member, **given)
        return Response(TaskTypeSerializer(kind).data)

    @extend_schema(parameters=[ReplacementQuery], responses={204: None}, tags=["tasks"])
    def delete(self, request: Request, type_id: UUID) -> Response:
        """Delete a task type. If tasks have it, `replacement_id` names what they get."""
        wanted = ReplacementQuery.read_query(request).get("replacement_id")
        kind = selectors.get_type(self.project, type_id)
        replacement = wanted and selectors.get_type(self.project, wanted)
        statuses.delete(kind, replacement=replacement, by=self.member)
        return self.no_content()


class LabelList(ProjectView):
    """Lists labels."""

    required_permission: ClassVar[str | dict[str, str]] = "tasks:read"

    @extend_schema(responses=LabelSerializer(many=True), tags=["tasks"])
    def get(self, request: Request) -> Response:
        """List the labels that tasks have had. A task makes a label by naming it."""
        return OldestFirstPagination.page_response(self.project.labels.all(), self, LabelSerializer)


def _all(serializer: Any) -> Response:
    """A list that is short enough for one page."""
    return Response({"results": serializer.data, "next": None, "previous": None})


def _in_order(rows: Iterable[Row], ids: list[UUID]) -> list[Row]:
    found = {row.pk: row for row in rows}
    if any(each not in found for each in ids):
        raise NotFound("The project has none of this id.")
    return [found[each] for each in ids]
