"""API views of tasks: list, board, and changes of one or many."""

from django.db import transaction
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.common.api import keyset
from paca.common.api.preconditions import require_unchanged
from paca.projects import selectors, task_lists
from paca.projects.api import task_fields
from paca.projects.api.base import ProjectView
from paca.projects.api.task_inputs import BulkInput, TaskInput
from paca.projects.api.task_serializers import (
    BoardSerializer,
    CardSerializer,
    StatusSerializer,
    TaskSerializer,
    TasksSerializer,
    describe,
    describe_all,
)
from paca.projects.services import task_bulk, tasks

REQUIRED_PERMISSIONS = {
    "GET": "tasks:read",
    "POST": "tasks:write",
    "PATCH": "tasks:write",
    "DELETE": "tasks:write",
}
FILTERS = [
    OpenApiParameter(name, str, many=True, description=meaning)
    for name, meaning in {
        "status": "Ids of statuses.",
        "category": "`backlog`, `todo`, `in_progress` or `done`.",
        "priority": "`none`, `low`, `medium`, `high` or `urgent`.",
        "assignee": "Ids of members; `me`; `none`.",
        "label": "Names of labels.",
        "sprint": "Ids of sprints; `active`; `none`.",
        "type": "Ids of task types.",
        "parent": "Numbers of tasks; `none`.",
        "search": "Words of the title, or a key or number.",
    }.items()
] + [OpenApiParameter("deleted", bool, description="Only deleted tasks, which can be restored.")]
ORDERING = OpenApiParameter(
    "ordering",
    str,
    enum=[sign + name for name in task_lists.ORDERS for sign in ("", "-")],
    description="The newest come first by default.",
)
BOARD_LIMIT = OpenApiParameter("limit", int, description="Cards of each column; 50, at most 200.")


class TaskList(ProjectView):
    """Lists and makes tasks."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(
        parameters=[*FILTERS, ORDERING], responses=TaskSerializer(many=True), tags=["tasks"]
    )
    def get(self, request: Request) -> Response:
        """List tasks. Several values of one filter: one of them has to match."""
        found = task_lists.select(
            self.project, dict(request.query_params.lists()), viewer=self.member
        )
        page = keyset.page(
            found,
            request,
            task_lists.ORDERS,
            default=task_lists.DEFAULT_ORDER,
            load=task_lists.load_details,
        )
        return Response(
            {"results": describe_all(page.rows), "next": page.next, "previous": page.previous}
        )

    @extend_schema(request=TaskInput, responses={201: TaskSerializer}, tags=["tasks"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a task. Agents that it is assigned to start on it."""
        given = task_fields.to_fields(self.project, TaskInput.read(request))
        task = tasks.create(self.project, by=self.member, **given)
        return Response(describe(selectors.get_task(self.project, task.number)), status=201)


class TaskDetail(ProjectView):
    """Shows, changes and deletes a task."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=TaskSerializer, tags=["tasks"])
    def get(self, request: Request, number: int) -> Response:
        """Show a task."""
        return Response(describe(selectors.get_task(self.project, number)))

    @extend_schema(request=TaskInput, responses=TaskSerializer, tags=["tasks"])
    def patch(self, request: Request, number: int) -> Response:
        """Change a task. The answer 412 to `If-Match` has the present task as `present`."""
        given = TaskInput.read(request, partial=True)
        with transaction.atomic():
            tasks.lock_project(self.project.pk)
            task = selectors.get_task(self.project, number)
            require_unchanged(request, task, present=lambda: describe(task))
            fields = task_fields.to_fields(self.project, given)
            tasks.change(task, by=self.member, **fields)
        return Response(describe(selectors.get_task(self.project, number)))

    @extend_schema(responses={204: None}, tags=["tasks"])
    def delete(self, request: Request, number: int) -> Response:
        """Delete a task. It can be restored."""
        tasks.delete(selectors.get_task(self.project, number), by=self.member)
        return self.no_content()


class TaskRestore(ProjectView):
    """Restores a deleted task."""

    required_permission = "tasks:write"

    @extend_schema(request=None, responses=TaskSerializer, tags=["tasks"])
    @idempotent
    def post(self, request: Request, number: int) -> Response:
        """Bring a deleted task back with all that it had."""
        tasks.restore(selectors.get_task(self.project, number, deleted=True), by=self.member)
        return Response(describe(selectors.get_task(self.project, number)))


class TaskBulk(ProjectView):
    """Changes many tasks at once."""

    required_permission = "tasks:write"
    takes_if_match = False

    @extend_schema(request=BulkInput, responses=TasksSerializer, tags=["tasks"])
    def patch(self, request: Request) -> Response:
        """Make the same change to up to 200 tasks: all are changed, or none.

        If some cannot be changed, `fields` of the error names the problem of each, such as
        `PACA-4.parent`.
        """
        given = BulkInput.read(request)
        numbers = given["numbers"]
        fields = task_fields.to_fields(self.project, given["changes"])
        changed = task_bulk.change(self.project, numbers, by=self.member, **fields)
        rows = task_lists.load_details([task.pk for task in changed])
        return Response({"results": describe_all(rows[task.pk] for task in changed)})


class TaskBoard(ProjectView):
    """The board."""

    required_permission = "tasks:read"

    @extend_schema(parameters=[*FILTERS, BOARD_LIMIT], responses=BoardSerializer, tags=["tasks"])
    def get(self, request: Request) -> Response:
        """Show a column for each status with its first cards. Filters are those of the list."""
        query = dict(request.query_params.lists())
        found = task_lists.select(self.project, query, viewer=self.member)
        columns = task_lists.board(self.project, found, limit=keyset.read_limit(request))
        cards = iter(
            describe_all((task for each in columns for task in each.tasks), CardSerializer)
        )
        shown = [
            {
                "status": StatusSerializer(column.status).data,
                "count": column.count,
                "tasks": [next(cards) for _ in column.tasks],
                "next": self._next(request, column),
            }
            for column in columns
        ]
        return Response({"columns": shown})

    def _next(self, request: Request, column: task_lists.Column) -> str | None:
        """The address of the rest of a column: a page of the list."""
        if column.count <= len(column.tasks):
            return None
        query = request.query_params.copy()
        query.pop("cursor", None)
        query["status"], query["ordering"] = str(column.status.pk), "position"
        address = reverse("api:tasks", kwargs={"project": self.project.pk})
        url = request.build_absolute_uri(f"{address}?{query.urlencode()}")
        last = column.tasks[-1]
        return keyset.address_after(url, "position", last.position, last.number)
