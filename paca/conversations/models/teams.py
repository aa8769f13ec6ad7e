"""The tables of teams: teammates, the tasks they claim, and what lead and teammates ask each other."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.conversations.models.statuses import ConversationStatus
from paca.engine.teams.requests import MAX_NAME, MAX_ROLE, MAX_TEAMMATES
from paca.projects.models import Task


class TeammateState(models.TextChoices):
    """working: a turn of it runs or waits for a worker. idle: it waits for a message or a task, without a worker."""

    WORKING = "working"
    IDLE = "idle"
    ENDED = "ended"


class TeammateEnd(models.TextChoices):
    """Why a teammate has ended. ``limit``: its conversation was paused at a limit, which nobody can raise for it."""

    IDLE = "idle"
    SHUTDOWN = "shutdown"
    STOPPED = "stopped"
    FAILED = "failed"
    LIMIT = "limit"
    UNREVIEWED = "unreviewed"


class TeammateStop(models.TextChoices):
    """A stop that has reached a teammate: of it alone, or of its lead."""

    ALONE = "alone"
    WITH_LEAD = "with_lead"


class TeammateQuerySet(models.QuerySet["Teammate"]):
    """Queries of teammates."""

    def live(self) -> TeammateQuerySet:
        """Those that have not ended."""
        return self.filter(ended_at=None)


class Teammate(BaseModel):
    """A member of the team of the conversation ``lead``. Its own conversation lives on between its pieces of work.

    ``place`` is one of those that a team has. ``plans_first``: it may change nothing until the lead has approved its
    plan. ``told_turn`` is the last turn whose end was told to the lead, with the tokens and dollars until then.
    ``stopping``: a stop has reached it.
    """

    lead = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="teammates")
    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, related_name="teammate"
    )
    name = models.CharField(max_length=MAX_NAME)
    role = models.CharField(max_length=MAX_ROLE)
    place = models.PositiveSmallIntegerField()
    plans_first = models.BooleanField(default=False)
    told_turn = models.PositiveIntegerField(default=0)
    told_tokens = models.BigIntegerField(default=0)
    told_usd = models.FloatField(default=0)
    stopping = models.CharField(max_length=10, choices=TeammateStop.choices, blank=True)
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(max_length=20, choices=TeammateEnd.choices, blank=True)

    objects = TeammateQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["lead", "name"], name="teammate_name_is_unique_in_its_team"
            ),
            models.UniqueConstraint(
                fields=["lead", "place"],
                condition=Q(ended_at=None),
                name="place_in_a_team_has_one_teammate",
            ),
            models.CheckConstraint(
                name="team_has_five_places", condition=Q(place__gte=1, place__lte=MAX_TEAMMATES)
            ),
            models.CheckConstraint(
                name="teammate_that_has_ended_says_why",
                condition=Q(ended_at=None, end_reason="")
                | Q(ended_at__isnull=False) & ~Q(end_reason=""),
            ),
        ]
        indexes = [
            models.Index(fields=["lead"], name="teammate_live", condition=Q(ended_at=None)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def state(self) -> TeammateState:
        """What it does. It needs the row of its conversation."""
        if self.ended_at is not None:
            return TeammateState.ENDED
        idle = self.conversation.status == ConversationStatus.FINISHED
        return TeammateState.IDLE if idle else TeammateState.WORKING


class TeamTask(BaseModel):
    """A task of the plan of a team. ``teammate`` has claimed it, and has it until ``closed_at``."""

    lead = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="team_tasks")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="+")
    teammate = models.ForeignKey(
        Teammate, on_delete=models.SET_NULL, null=True, related_name="tasks"
    )
    claimed_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["lead", "task"], name="task_is_in_a_team_plan_once"),
            models.UniqueConstraint(
                fields=["task"],
                condition=Q(claimed_at__isnull=False, closed_at=None),
                name="task_is_claimed_once",
            ),
            models.CheckConstraint(
                name="team_task_is_claimed_before_it_is_closed",
                condition=Q(closed_at=None) | Q(claimed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task_id} of {self.lead_id}"


class TeamRequestKind(models.TextChoices):
    """shutdown: the lead asks a teammate to end. plan_review: a teammate asks the lead to approve its plan."""

    SHUTDOWN = "shutdown"
    PLAN_REVIEW = "plan_review"


class TeamRequestState(models.TextChoices):
    """ended: the teammate ended before there was an answer."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    ENDED = "ended"


class TeamRequest(BaseModel):
    """What lead or teammate asks the other, and the answer. It is resolved once, at its ``deadline`` at the latest.

    ``told_at`` is when the teammate was told the decision on its plan.
    """

    teammate = models.ForeignKey(Teammate, on_delete=models.CASCADE, related_name="requests")
    kind = models.CharField(max_length=20, choices=TeamRequestKind.choices)
    state = models.CharField(
        max_length=10, choices=TeamRequestState.choices, default=TeamRequestState.OPEN
    )
    text = models.TextField(blank=True)
    answer = models.TextField(blank=True)
    deadline = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["teammate", "kind"],
                condition=Q(state="open"),
                name="teammate_has_one_open_request_of_a_kind",
            ),
            models.CheckConstraint(
                name="team_request_is_open_or_resolved",
                condition=Q(state="open", resolved_at=None)
                | ~Q(state="open") & Q(resolved_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["deadline"], name="team_request_due", condition=Q(state="open"))
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
