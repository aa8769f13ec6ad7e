"""Check-ins: what an agent looks after at set times, and what became of each time."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from paca.agents.models import Agent
from paca.common import time_zones
from paca.common.models import BaseModel
from paca.conversations.check_in_slots import ALL_DAYS, Schedule
from paca.conversations.models.conversation import Conversation
from paca.projects.models import Doc, Project, Task

MIN_MINUTES, MAX_MINUTES = 5, 7 * 24 * 60
MAX_DAILY = 24
MAX_PROMPT_CHARACTERS = 20_000


def check_daily_at(value: Any) -> None:
    """Raises ``ValidationError`` if it is no list of different hours such as 09:30."""
    error = ValidationError("Write hours such as 09:30, each once.")
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise error
    if len(value) > MAX_DAILY:
        raise ValidationError(f"At most {MAX_DAILY} hours a day.")
    for each in value:
        try:
            valid = f"{time.fromisoformat(each):%H:%M}" == each
        except ValueError:
            valid = False
        if not valid:
            raise error
    if len(set(value)) != len(value):
        raise error


def check_weekdays(value: Any) -> None:
    """Raises ``ValidationError`` if it is no list of different weekdays, 1 for Monday to 7 for Sunday."""
    valid = isinstance(value, list) and all(type(day) is int and day in ALL_DAYS for day in value)
    if not valid or not value or len(set(value)) != len(value):
        raise ValidationError("Choose at least one weekday: 1 is Monday, 7 is Sunday.")


def all_weekdays() -> list[int]:
    """Monday to Sunday."""
    return sorted(ALL_DAYS)


class CheckInQuerySet(models.QuerySet["CheckIn"]):
    """Queries of check-ins."""

    def for_project(self, project: Project) -> CheckInQuerySet:
        """The check-ins of the project's agents that are not retired."""
        # guard: check-in-of-the-project
        return self.filter(agent__project=project, agent__deleted_at__isnull=True)

    def scheduled(self) -> CheckInQuerySet:
        """Those that have a next slot, of agents and projects that are not gone."""
        return self.filter(
            next_at__isnull=False,
            agent__deleted_at__isnull=True,
            agent__project__deleted_at__isnull=True,
        )


class CheckIn(BaseModel):
    """What an agent is asked at set times. ``next_at`` is its next slot; null while it is switched off.

    ``task`` or ``doc`` gets the report. Without ``auto_act`` the agent has read-only tools.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="check_ins")
    name = models.CharField(max_length=100)
    prompt = models.TextField(
        validators=[MaxLengthValidator(MAX_PROMPT_CHARACTERS)],
        help_text="What the agent looks after.",
    )
    enabled = models.BooleanField(default=True)
    every_minutes = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(MIN_MINUTES), MaxValueValidator(MAX_MINUTES)],
        help_text="The time between two slots. Empty: daily at the hours of daily_at.",
    )
    daily_at = models.JSONField(
        default=list,
        blank=True,
        validators=[check_daily_at],
        help_text="Hours of the day, such as 09:30.",
    )
    weekdays = models.JSONField(
        default=all_weekdays, validators=[check_weekdays], help_text="1 is Monday, 7 is Sunday."
    )
    active_from = models.TimeField(null=True, blank=True)
    active_to = models.TimeField(null=True, blank=True)
    time_zone = models.CharField(
        max_length=64,
        blank=True,
        validators=[time_zones.check],
        help_text="Empty: the project's, or else the server's.",
    )
    auto_act = models.BooleanField(
        default=False, help_text="Off: the agent has read-only tools and can change nothing."
    )
    with_tasks = models.BooleanField(
        default=False, help_text="The message names up to three open tasks assigned to the agent."
    )
    task = models.ForeignKey(
        Task, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    doc = models.ForeignKey(Doc, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    next_at = models.DateTimeField(null=True, editable=False)

    # Set by ``check_in_lists``.
    newest_runs: list[CheckInRun]

    objects = CheckInQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="check_in_has_name_and_prompt", condition=~Q(name="") & ~Q(prompt="")
            ),
            models.CheckConstraint(
                name="check_in_interval_is_five_minutes_to_a_week",
                condition=Q(every_minutes=None)
                | Q(every_minutes__gte=MIN_MINUTES, every_minutes__lte=MAX_MINUTES),
            ),
            models.CheckConstraint(
                name="check_in_has_both_active_hours_or_none",
                condition=Q(active_from=None, active_to=None)
                | Q(active_from__isnull=False, active_to__isnull=False)
                & ~Q(active_from=F("active_to")),
            ),
            models.CheckConstraint(
                name="check_in_reports_to_one_place",
                condition=Q(task__isnull=True) | Q(doc__isnull=True),
            ),
            models.CheckConstraint(
                name="check_in_that_is_off_has_no_slot",
                condition=Q(enabled=True) | Q(next_at=None),
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_at"], name="check_in_due", condition=Q(next_at__isnull=False)
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def zone_name(self) -> str:
        """Its time zone: its own, else the project's, else the server's."""
        return self.time_zone or self.agent.project.time_zone or settings.DEFAULT_TIME_ZONE

    @property
    def schedule(self) -> Schedule:
        """When it is due. Its fields are valid."""
        return Schedule(
            zone=ZoneInfo(self.zone_name),
            every_minutes=self.every_minutes,
            daily_at=tuple(time.fromisoformat(each) for each in self.daily_at),
            weekdays=frozenset(self.weekdays),
            active_from=self.active_from,
            active_to=self.active_to,
        )


class CheckInOutcome(models.TextChoices):
    """What became of a slot. A person can also start a run by hand, without a slot."""

    STARTED = "started"
    SKIPPED = "skipped"


class SkipReason(models.TextChoices):
    """Why a slot did not run."""

    MISSED = "missed", "No worker was running at that time"
    AGENT_PAUSED = "agent_paused", "The agent was paused"
    AGENT_INACTIVE = "agent_inactive", "The agent was inactive"
    BUSY = "busy", "The former check-in was not finished"
    OUTSIDE_HOURS = "outside_hours", "It came late, outside of the active hours"
    BUDGET_REACHED = "budget_reached", "The budget was used up"
    REPORT_DELETED = "report_deleted", "The task or doc that gets the report is deleted"
    FAILED = "failed", "It could not be started; the log of the worker says why"


class CheckInRun(BaseModel):
    """What became of one slot, or of ``count`` missed ones of which ``slot_at`` is the last.

    ``conversation`` is that of a run. A run by hand has no slot; ``started_by`` names the person.
    """

    check_in = models.ForeignKey(CheckIn, on_delete=models.CASCADE, related_name="runs")
    slot_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, choices=CheckInOutcome.choices)
    reason = models.CharField(max_length=20, choices=SkipReason.choices, blank=True)
    count = models.PositiveIntegerField(default=1)
    started_by = models.CharField(max_length=200, blank=True)
    conversation = models.OneToOneField(
        Conversation, on_delete=models.SET_NULL, null=True, related_name="check_in_run"
    )

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["check_in", "slot_at"], name="check_in_slot_runs_once"),
            models.CheckConstraint(
                name="check_in_run_is_started_or_says_why_not",
                condition=Q(outcome="started", reason="") | Q(outcome="skipped") & ~Q(reason=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} {self.reason}".strip()

    @property
    def at(self) -> datetime:
        """Its slot, or when the person started it."""
        return self.slot_at or self.created_at
