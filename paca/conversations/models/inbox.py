"""The inbox of a conversation. All inboxes together are the queue of work."""

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation


class TriggerState(models.TextChoices):
    """new: waits. claimed: a turn answers it. done: answered. dead: given up, see ``last_error``."""

    NEW = "new"
    CLAIMED = "claimed"
    DONE = "done"
    DEAD = "dead"


class ControlCommand(models.TextChoices):
    """The command that a trigger gives to a running turn."""

    NONE = ""
    INTERRUPT = "interrupt"
    STOP = "stop"
    PAUSE = "pause"


class Trigger(BaseModel):
    """A message to answer, a request to continue, or a control command to a running turn."""

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="triggers"
    )
    kind = models.CharField(max_length=20)
    control = models.CharField(max_length=10, choices=ControlCommand.choices, blank=True)
    source = models.CharField(max_length=20)
    idempotency_key = models.CharField(max_length=200, blank=True)
    by = models.CharField(max_length=200, blank=True)
    event_seq = models.BigIntegerField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=10, choices=TriggerState.choices, default=TriggerState.NEW)
    turn = models.PositiveIntegerField(null=True)
    last_error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "source", "kind", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="trigger_key_starts_one_turn",
            )
        ]
        indexes = [
            models.Index(
                fields=["conversation", "control"], name="trigger_new", condition=Q(state="new")
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
