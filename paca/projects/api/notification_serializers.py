"""Serializers of notifications."""

from typing import Any

from rest_framework import serializers

from paca.common.api.serializers import QuerySerializer
from paca.projects import notification_lists
from paca.projects.api.task_serializers import MemberSummarySerializer
from paca.projects.models import Notification


class NotificationProjectSerializer(serializers.Serializer[Any]):
    """The project that a notification comes from."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class NotificationSerializer(serializers.ModelSerializer[Notification]):
    """A notification. The context may have ``titles``: those of conversations, by their ids."""

    project = NotificationProjectSerializer()
    actor = MemberSummarySerializer(allow_null=True)
    subject = serializers.SerializerMethodField(
        help_text="What it is about, such as `PACA-4 Paint`."
    )
    url = serializers.SerializerMethodField(help_text="The page that shows it.")
    at = serializers.DateTimeField(source="created_at")

    class Meta:
        model = Notification
        fields = ("id", "kind", "project", "actor", "subject", "url", "read_at", "at")

    def get_subject(self, notification: Notification) -> str:
        if notification.task is not None:
            return f"{notification.project.prefix}-{notification.task.number} {notification.task.title}"
        if notification.doc is not None:
            return notification.doc.title
        titles = self.context.get("titles", {})
        return str(titles.get(notification.conversation_id, "A conversation"))

    def get_url(self, notification: Notification) -> str:
        return notification_lists.address_of(notification)


class NotificationPageSerializer(serializers.Serializer[Any]):
    """A page of notifications, and how many the person has not read."""

    results = NotificationSerializer(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    unread = serializers.IntegerField()


class NotificationQuery(QuerySerializer):
    """The query of the list of notifications."""

    unread = serializers.BooleanField(default=False, help_text="Only those that are not read.")


class UnreadSerializer(serializers.Serializer[Any]):
    """How many notifications are left unread."""

    unread = serializers.IntegerField()
