"""API views of the signed-in person's notifications."""

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.accounts.api.idempotency import idempotent
from paca.common.api.pagination import NewestFirstPagination
from paca.projects import notification_lists
from paca.projects.api.notification_serializers import (
    NotificationPageSerializer,
    NotificationQuery,
    NotificationSerializer,
    UnreadSerializer,
)
from paca.projects.services import notifications

PAGE = [
    OpenApiParameter("cursor", str, description="The cursor of the page."),
    OpenApiParameter("limit", int, description="Notifications of a page; 50, at most 200."),
]


class NotificationList(ApiView):
    """Lists notifications. Tokens with scopes cannot read them: they are about all kinds of objects."""

    @extend_schema(
        parameters=[NotificationQuery, *PAGE],
        responses=NotificationPageSerializer,
        tags=["notifications"],
    )
    def get(self, request: Request) -> Response:
        """List your notifications of all projects, the newest first, and how many are unread."""
        found = notification_lists.readable(self.person)
        unread = found.filter(read_at=None)
        paginator = NewestFirstPagination()
        wanted = unread if NotificationQuery.read_query(request)["unread"] else found
        rows = paginator.paginate_queryset(wanted, request, view=self) or []
        context = {"titles": notification_lists.conversation_titles(rows)}
        shown = NotificationSerializer(rows, many=True, context=context)
        answer = paginator.get_paginated_response(shown.data)
        answer.data["unread"] = unread.count()
        return answer


class NotificationRead(ApiView):
    """Marks a notification as read."""

    @extend_schema(request=None, responses=UnreadSerializer, tags=["notifications"])
    @idempotent
    def post(self, request: Request, notification_id: UUID) -> Response:
        """Mark a notification as read."""
        found = notification_lists.get(self.person, notification_id)
        notifications.mark_read([found], by=self.person)
        return Response({"unread": notification_lists.count_unread(self.person)})


class NotificationReadAll(ApiView):
    """Marks all notifications as read."""

    @extend_schema(
        operation_id="notifications_read_all",
        request=None,
        responses=UnreadSerializer,
        tags=["notifications"],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Mark all your notifications as read."""
        notifications.mark_all_read(by=self.person)
        return Response({"unread": notification_lists.count_unread(self.person)})
