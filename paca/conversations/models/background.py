"""The table of commands that run in the background."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from paca.conversations.models.conversation import Conversation


class BackgroundCommandState(models.TextChoices):
    """Whether a background command runs, as far as the log knows."""

    RUNNING = "running"
    ENDED = "ended"


class BackgroundCommandQuerySet(models.QuerySet["BackgroundCommand"]):
    """Queries of background commands."""

    def running(self) -> BackgroundCommandQuerySet:
        return self.filter(state=BackgroundCommandState.RUNNING)


class BackgroundCommand(models.Model):
    """A background command, as the log tells it. Its ``id`` is that of the call, by which the runner knows it.

    The row is written with ``agent.background.started`` and ended with ``agent.background.finished``. ``output`` is
    its newest output. ``stop_requested_at``: somebody wants it ended, ``stop_by`` if that is a person. ``look_at``:
    when a worker looks at it next, while no turn runs. ``wake_due``: it has ended, and it is not decided yet whether
    the agent is woken for it.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="background_commands"
    )
    handle = models.CharField(max_length=20)
    command = models.TextField()
    boot_id = models.CharField(max_length=64, blank=True)
    state = models.CharField(
        max_length=10,
        choices=BackgroundCommandState.choices,
        default=BackgroundCommandState.RUNNING,
    )
    exit_code = models.IntegerField(null=True)
    cause = models.CharField(max_length=20, blank=True, db_default="")
    output = models.TextField(blank=True, db_default="")
    file = models.CharField(max_length=200, blank=True, db_default="")
    stop_by = models.CharField(max_length=200, blank=True, db_default="")
    stop_requested_at = models.DateTimeField(null=True)
    wake_due = models.BooleanField(default=False, db_default=False)
    look_at = models.DateTimeField()
    started_at = models.DateTimeField()
    deadline_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    objects = BackgroundCommandQuerySet.as_manager()

    class Meta:
        ordering = ["-started_at", "-id"]
        constraints = [
            models.CheckConstraint(
                name="background_command_state_is_known",
                condition=Q(state__in=BackgroundCommandState.values),
            )
        ]
        indexes = [
            models.Index(
                fields=["look_at"],
                name="background_command_watched",
                condition=Q(state="running") | Q(wake_due=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.handle} {self.state}"

    @property
    def shown_state(self) -> str:
        """running, stopping or ended."""
        running = self.state == BackgroundCommandState.RUNNING
        return "stopping" if running and self.stop_requested_at else str(self.state)
