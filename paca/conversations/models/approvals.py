"""Tool calls that a person decides on before they run."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.conversations.models.statuses import APPROVAL_MOVES, ApprovalState, statuses_before
from paca.projects.models import Member


class ApprovalQuerySet(models.QuerySet["Approval"]):
    """Queries of approvals, and the only update of their state."""

    def open(self) -> ApprovalQuerySet:
        """Those that wait for a person."""
        return self.filter(state=ApprovalState.OPEN, conversation__deleted_at=None)

    def with_details(self) -> ApprovalQuerySet:
        """Each with the agent, the project and the member that the API shows."""
        return self.select_related(
            "conversation__agent", "conversation__project", "conversation__task", "decided_by__user"
        )

    def move(self, to: ApprovalState, **changes: Any) -> int:
        """Give this state to those that may go to it; gives their number.

        ``changes`` are other columns. Raises ``IllegalStatusMove`` if no approval may ever go to it.
        """
        # guard: approvals-move-as-allowed
        movable = self.filter(state__in=statuses_before(to, APPROVAL_MOVES))
        return movable.update(state=to, **changes)


class Approval(BaseModel):
    """The request to run one call, and the decision on it. The events of the log make and change it.

    ``arguments`` are those of the model; ``changed_arguments`` those that ran in their place. ``created_at`` is
    the time of the request.
    """

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="approvals"
    )
    # As in the log, where ids of calls have no dashes.
    call_id = models.CharField(max_length=64, unique=True, editable=False)
    turn = models.PositiveIntegerField()
    tool = models.CharField(max_length=100)
    arguments = models.JSONField()
    subject = models.TextField(blank=True)
    rule = models.CharField(max_length=50)
    why = models.TextField(blank=True)
    effect = models.CharField(max_length=20)
    undo = models.TextField(blank=True)
    diff = models.TextField(blank=True)
    deadline = models.DateTimeField()
    state = models.CharField(
        max_length=10, choices=ApprovalState.choices, default=ApprovalState.OPEN
    )
    decided_by = models.ForeignKey(
        Member, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)
    changed_arguments = models.JSONField(null=True)

    objects = ApprovalQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                name="approval_state_is_known", condition=Q(state__in=ApprovalState.values)
            ),
            models.CheckConstraint(
                name="approval_is_open_or_decided",
                condition=Q(state="open", decided_at=None)
                | (~Q(state="open") & Q(decided_at__isnull=False)),
            ),
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(state="open"),
                name="conversation_waits_for_one_approval",
            ),
        ]
        indexes = [
            models.Index(fields=["deadline"], name="approval_due", condition=Q(state="open")),
        ]

    def __str__(self) -> str:
        return f"{self.state}: {self.tool} {self.subject[:50]}"
