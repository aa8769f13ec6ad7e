"""API views of the timelines of tasks and docs."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from paca.common.api import keyset
from paca.common.api.pagination import NewestFirstPagination
from paca.projects import comment_lists, doc_lists, timelines
from paca.projects.api.base import ProjectView
from paca.projects.api.talk_serializers import CommentSerializer
from paca.projects.api.task_serializers import ActivitySerializer
from paca.projects.models import Activity, Comment, Doc, Task


class TimelineEntrySerializer(serializers.Serializer[Any]):
    """An entry of a timeline: something that happened, or a comment."""

    type = serializers.ChoiceField(choices=["activity", "comment"])
    at = serializers.DateTimeField(source="created_at")
    activity = ActivitySerializer(allow_null=True)
    comment = CommentSerializer(allow_null=True)

    def to_representation(self, instance: Activity | Comment) -> dict[str, Any]:
        comment = CommentSerializer(instance).data if isinstance(instance, Comment) else None
        activity = ActivitySerializer(instance).data if isinstance(instance, Activity) else None
        return {
            "type": "activity" if comment is None else "comment",
            "at": self.fields["at"].to_representation(instance.created_at),
            "activity": activity,
            "comment": comment,
        }


class _TaskPart(ProjectView):
    """Something of one task."""

    required_permission = "tasks:read"

    def subject(self, number: int) -> Task:
        """The task. Raises ``NotFound`` if there is none of this number."""
        return comment_lists.get_task(self.project, number)


class TaskActivity(_TaskPart):
    """What happened to a task."""

    @extend_schema(responses=ActivitySerializer(many=True), tags=["tasks"])
    def get(self, request: Request, number: int) -> Response:
        """List what happened to a task, the newest first, without its comments."""
        return _activities(self, self.subject(number))


class TaskTimeline(_TaskPart):
    """The timeline of a task."""

    @extend_schema(responses=TimelineEntrySerializer(many=True), tags=["tasks"])
    def get(self, request: Request, number: int) -> Response:
        """List what happened to a task and its comments in one order, the newest first."""
        return _timeline(self, self.subject(number))


class DocActivity(ProjectView):
    """What happened to a doc."""

    required_permission = "docs:read"

    @extend_schema(responses=ActivitySerializer(many=True), tags=["docs"])
    def get(self, request: Request, doc_id: Any) -> Response:
        """List what happened to a doc, the newest first, without its comments."""
        return _activities(self, doc_lists.get(self.project, doc_id))


class DocTimeline(ProjectView):
    """The timeline of a doc."""

    required_permission = "docs:read"

    @extend_schema(responses=TimelineEntrySerializer(many=True), tags=["docs"])
    def get(self, request: Request, doc_id: Any) -> Response:
        """List what happened to a doc and its comments in one order, the newest first."""
        return _timeline(self, doc_lists.get(self.project, doc_id))


def _activities(view: ProjectView, subject: Task | Doc) -> Response:
    return NewestFirstPagination.page_response(
        timelines.activities_of(subject), view, ActivitySerializer
    )


def _timeline(view: ProjectView, subject: Task | Doc) -> Response:
    request = view.request
    page = timelines.read(
        subject,
        limit=keyset.read_limit(request),
        cursor=request.query_params.get("cursor", ""),
    )
    url = request.build_absolute_uri()
    older = replace_query_param(url, "cursor", page.cursor) if page.cursor else None
    shown = TimelineEntrySerializer(page.entries, many=True).data
    return Response({"results": shown, "next": older, "previous": None})
