"""Changes of an agent's status that are planned for a time."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from paca.agents.models import Agent, AgentStatus
from paca.common import time_zones
from paca.common.models import BaseModel
from paca.projects.models import Member


class StatusMode(models.TextChoices):
    """What becomes of an agent's running turns when it stops to be active."""

    GRACEFUL = "graceful", "Running turns finish, nothing new begins"
    IMMEDIATE = "immediate", "Running turns are stopped"


class StatusChangeState(models.TextChoices):
    """What became of a planned change."""

    PLANNED = "planned"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class StatusChangeQuerySet(models.QuerySet["AgentStatusChange"]):
    """Queries of planned changes."""

    def planned(self) -> StatusChangeQuerySet:
        """Those that have not come yet, of agents and projects that are not gone."""
        return self.filter(
            state=StatusChangeState.PLANNED,
            agent__deleted_at__isnull=True,
            agent__project__deleted_at__isnull=True,
        )


class AgentStatusChange(BaseModel):
    """A change of an agent's status at a time. ``time_zone`` is the one that the time was written in."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="status_changes")
    status = models.CharField(max_length=10, choices=AgentStatus.choices)
    mode = models.CharField(max_length=10, choices=StatusMode.choices)
    due_at = models.DateTimeField()
    time_zone = models.CharField(max_length=64, validators=[time_zones.check])
    state = models.CharField(
        max_length=10, choices=StatusChangeState.choices, default=StatusChangeState.PLANNED
    )
    made_by = models.ForeignKey(
        Member, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_by_name = models.CharField(max_length=200, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = StatusChangeQuerySet.as_manager()

    class Meta:
        ordering = ["due_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["agent"],
                condition=Q(state="planned"),
                name="agent_has_one_planned_status_change",
            ),
            models.CheckConstraint(
                name="status_change_has_known_values",
                condition=Q(
                    status__in=AgentStatus.values,
                    mode__in=StatusMode.values,
                    state__in=StatusChangeState.values,
                ),
            ),
            models.CheckConstraint(
                name="status_change_that_is_planned_has_no_end",
                condition=Q(state="planned", ended_at=None)
                | ~Q(state="planned") & Q(ended_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], name="status_change_due", condition=Q(state="planned"))
        ]

    def __str__(self) -> str:
        return f"{self.agent}: {self.status}"
