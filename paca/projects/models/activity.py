"""The timeline of a task or a doc."""

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.projects.models.doc import Doc
from paca.projects.models.member import Member
from paca.projects.models.project import Project
from paca.projects.models.task import Task


class ActivityKind(models.TextChoices):
    """Kinds of entries of a timeline."""

    TASK_CREATED = "task.created"
    TASK_UPDATED = "task.updated"
    TASK_DELETED = "task.deleted"
    TASK_RESTORED = "task.restored"
    ATTACHMENT_ADDED = "task.attachment.added"
    ATTACHMENT_REMOVED = "task.attachment.removed"
    DOC_CREATED = "doc.created"
    DOC_UPDATED = "doc.updated"
    DOC_DELETED = "doc.deleted"
    DOC_RESTORED = "doc.restored"
    AGENT_SESSION_STARTED = "agent.session.started"
    # The agent works on in its conversation no more, because the actor has unassigned it.
    AGENT_SESSION_STOPPED = "agent.session.stopped"
    # The agent's role does not allow a comment. The answer or refusal is in ``changes``.
    AGENT_COMMENT_WITHHELD = "agent.comment.withheld"
    # The git server told it; ``changes`` names the pull request.
    PULL_REQUEST_MERGED = "pull_request.merged"
    PULL_REQUEST_CLOSED = "pull_request.closed"


class Activity(BaseModel):
    """One entry of a timeline. The database refuses to change it. Comments stand beside it.

    ``changes`` is a list of ``{field, old, new}`` with names as people read them. ``conversation_id``
    names the conversation that it is about, or whose agent did it.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="activities")
    task = models.ForeignKey(
        Task, on_delete=models.CASCADE, null=True, blank=True, related_name="activities"
    )
    doc = models.ForeignKey(
        Doc, on_delete=models.CASCADE, null=True, blank=True, related_name="activities"
    )
    kind = models.CharField(max_length=30, choices=ActivityKind)
    actor = models.ForeignKey(Member, on_delete=models.PROTECT, null=True, related_name="+")
    changes = models.JSONField(default=list)
    conversation_id = models.UUIDField(null=True)

    class Meta:
        ordering = ["created_at", "id"]
        verbose_name_plural = "activities"
        indexes = [models.Index(fields=["task", "created_at"], name="activity_of_task")]
        constraints = [
            models.CheckConstraint(
                name="activity_is_of_one_task_or_one_doc",
                condition=Q(task__isnull=False, doc__isnull=True)
                | Q(task__isnull=True, doc__isnull=False),
            ),
            models.CheckConstraint(
                name="activity_kind_is_known", condition=Q(kind__in=ActivityKind.values)
            ),
        ]

    def __str__(self) -> str:
        return self.kind
