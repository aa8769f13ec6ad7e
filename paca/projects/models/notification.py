"""Notifications of people."""

from django.db import models
from django.db.models import Q

from paca.accounts.models import User
from paca.common.models import BaseModel
from paca.projects.models.comment import Comment
from paca.projects.models.doc import Doc
from paca.projects.models.member import Member
from paca.projects.models.project import Project
from paca.projects.models.task import Task


class NotificationKind(models.TextChoices):
    """The event that a person is told about."""

    ASSIGNED = "assigned"
    MENTIONED = "mentioned"
    APPROVAL = "approval"
    QUESTION = "question"
    FINISHED = "finished"
    FAILED = "failed"


class Notification(BaseModel):
    """A fact that one person is told. Agents get none: they get triggers.

    It is about a task, a doc or a conversation; ``comment`` is the comment that mentions the person.
    ``key`` prevents that the same fact is told twice.
    """

    recipient = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notifications")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="notifications")
    kind = models.CharField(max_length=20, choices=NotificationKind)
    actor = models.ForeignKey(Member, on_delete=models.SET_NULL, null=True, related_name="+")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, null=True, related_name="+")
    doc = models.ForeignKey(Doc, on_delete=models.CASCADE, null=True, related_name="+")
    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, null=True, related_name="+")
    conversation_id = models.UUIDField(null=True)
    key = models.CharField(max_length=200)
    read_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["recipient", "-created_at"], name="notification_list"),
            models.Index(
                fields=["recipient"], name="notification_unread", condition=Q(read_at__isnull=True)
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["recipient", "key"], name="notification_is_told_once"),
            models.CheckConstraint(
                name="notification_kind_is_known", condition=Q(kind__in=NotificationKind.values)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.recipient_id}"
