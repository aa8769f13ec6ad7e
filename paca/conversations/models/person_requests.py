"""Requests to people: calls that wait for an approval, an answer, or a decision on a plan."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.conversations.models.statuses import REQUEST_MOVES, RequestState, statuses_before
from paca.projects.models import Member


class RequestKind(models.TextChoices):
    """What a call waits for. The log and the events call it the same."""

    APPROVAL = "approval"
    QUESTION = "question"
    PLAN = "plan"


class PersonRequestQuerySet(models.QuerySet["PersonRequest"]):
    """Queries of requests, and the only update of their state."""

    def approvals(self) -> PersonRequestQuerySet:
        """Those that wait for an approval of a call."""
        return self.filter(kind=RequestKind.APPROVAL)

    def open(self) -> PersonRequestQuerySet:
        """Those that wait for a person."""
        return self.filter(state=RequestState.OPEN, conversation__deleted_at=None)

    def with_details(self) -> PersonRequestQuerySet:
        """Each with the agent, the project and the member that the API shows."""
        return self.select_related(
            "conversation__agent", "conversation__project", "conversation__task", "decided_by__user"
        )

    def move(self, to: RequestState, **changes: Any) -> int:
        """Give this state to those that may go to it; gives their number.

        ``changes`` are other columns. Raises ``IllegalStatusMove`` if no approval may ever go to it.
        """
        # guard: approvals-move-as-allowed
        movable = self.filter(state__in=statuses_before(to, REQUEST_MOVES))
        return movable.update(state=to, **changes)


class PersonRequest(BaseModel):
    """What one call asks of people, and what they decided or answered. The events of the log make and change it.

    ``arguments`` are those of the model; ``changed_arguments`` those that ran in their place, or the changed steps
    of a plan. ``reason`` is the answer to a question, and the feedback on a plan. ``created_at`` is the time of the
    request.
    """

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="person_requests"
    )
    kind = models.CharField(
        max_length=10,
        choices=RequestKind.choices,
        default=RequestKind.APPROVAL,
        db_default=RequestKind.APPROVAL,
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
    state = models.CharField(max_length=10, choices=RequestState.choices, default=RequestState.OPEN)
    decided_by = models.ForeignKey(
        Member, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)
    changed_arguments = models.JSONField(null=True)

    objects = PersonRequestQuerySet.as_manager()

    class Meta:
        # The table is older than the two other kinds.
        db_table = "conversations_approval"
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                name="approval_state_is_known", condition=Q(state__in=RequestState.values)
            ),
            models.CheckConstraint(
                name="person_request_kind_is_known", condition=Q(kind__in=RequestKind.values)
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
