"""The inbox of a conversation. All inboxes together are the queue of work."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.conversations.models.statuses import TRIGGER_MOVES, TriggerState, statuses_before


class ControlCommand(models.TextChoices):
    """The command that a trigger gives to a running turn."""

    NONE = ""
    INTERRUPT = "interrupt"
    STOP = "stop"
    PAUSE = "pause"


class TriggerQuerySet(models.QuerySet["Trigger"]):
    """Queries of triggers, and the only update of their state by the ORM."""

    def move(self, to: TriggerState, **changes: Any) -> int:
        """Give this state to those triggers that may go to it; gives their number.

        ``changes`` are other columns. Raises ``IllegalStatusMove`` if no trigger may ever go to it.
        """
        # guard: triggers-move-as-allowed
        movable = self.filter(state__in=statuses_before(to, TRIGGER_MOVES))
        return movable.update(state=to, **changes)


class Trigger(BaseModel):
    """A message to answer, a request to continue, or a control command to a running turn.

    ``event_seq`` is its place in the log: the event of a message, or the last event before a command.
    A command ends what came before it, never a message after it. ``turn`` is the turn that took it up.
    """

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="triggers"
    )
    kind = models.CharField(max_length=20)
    control = models.CharField(max_length=10, choices=ControlCommand.choices, blank=True)
    source = models.CharField(max_length=20)
    idempotency_key = models.CharField(max_length=200, blank=True)
    by = models.CharField(max_length=200, blank=True)
    event_seq = models.BigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=10, choices=TriggerState.choices, default=TriggerState.NEW)
    turn = models.PositiveIntegerField(null=True)
    last_error = models.TextField(blank=True)

    objects = TriggerQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="trigger_state_is_known", condition=Q(state__in=TriggerState.values)
            ),
            models.UniqueConstraint(
                fields=["conversation", "source", "kind", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="trigger_key_starts_one_turn",
            ),
        ]
        indexes = [
            models.Index(
                fields=["conversation", "control"], name="trigger_new", condition=Q(state="new")
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
