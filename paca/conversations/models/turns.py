"""The table of the turns of conversations."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.conversations.models.statuses import TurnStatus


class Turn(BaseModel):
    """One answer to one or more triggers."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=10, choices=TurnStatus.choices, default=TurnStatus.RUNNING)
    reason = models.CharField(max_length=30, blank=True)
    steps = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "number"], name="turn_number_is_unique_in_conversation"
            ),
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(status="running"),
                name="conversation_has_one_running_turn",
            ),
            models.CheckConstraint(
                name="turn_status_is_known", condition=Q(status__in=TurnStatus.values)
            ),
        ]

    def __str__(self) -> str:
        return f"turn {self.number}"
