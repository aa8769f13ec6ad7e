"""Comments on tasks and docs, and their earlier versions."""

from typing import Self

from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.projects.models.doc import Doc
from paca.projects.models.member import Member
from paca.projects.models.project import Project
from paca.projects.models.task import Task

MAX_COMMENT_CHARACTERS = 50_000


class CommentQuerySet(models.QuerySet["Comment"]):
    """Queries of comments."""

    def live(self) -> Self:
        """Comments that are not deleted."""
        return self.filter(deleted_at__isnull=True)


class Comment(BaseModel):
    """A comment in Markdown on one task or one doc; ``parent`` is the comment that it answers.

    ``conversation_id`` names the conversation whose agent wrote it, if an agent did. A deleted comment
    that has answers stays in its thread without its text.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="comments")
    task = models.ForeignKey(
        Task, on_delete=models.CASCADE, null=True, blank=True, related_name="comments"
    )
    doc = models.ForeignKey(
        Doc, on_delete=models.CASCADE, null=True, blank=True, related_name="comments"
    )
    parent = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="answers"
    )
    author = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="comments")
    text = models.TextField(validators=[MaxLengthValidator(MAX_COMMENT_CHARACTERS)])
    conversation_id = models.UUIDField(null=True, blank=True, editable=False)
    edited_at = models.DateTimeField(null=True, blank=True, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = CommentQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="comment_is_on_one_task_or_one_doc",
                condition=Q(task__isnull=False, doc__isnull=True)
                | Q(task__isnull=True, doc__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return self.text[:50]


class CommentVersion(BaseModel):
    """The text of a comment before an edit; ``number`` counts from 1."""

    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["comment", "number"], name="comment_version_is_numbered_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.comment_id} {self.number}"


class Mention(BaseModel):
    """A member that a comment mentions. A comment mentions a member once, however often it is edited."""

    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="mentions")
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="mentions")

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["comment", "member"], name="comment_mentions_a_member_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.member_id} in {self.comment_id}"
