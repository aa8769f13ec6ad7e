"""Descriptions of tasks that an agent has written and a person has not accepted yet."""

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.projects.models import Member, Task


class SuggestionState(models.TextChoices):
    """open: a person decides. kept: it became the description. discarded: the description stayed."""

    OPEN = "open"
    KEPT = "kept"
    DISCARDED = "discarded"


class Suggestion(BaseModel):
    """The newest final answer of a conversation that writes the description of a task.

    Each further answer of the conversation replaces the text and opens the suggestion again. ``turn``
    is the turn that gave the text.
    """

    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, related_name="suggestion"
    )
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="suggestions")
    turn = models.PositiveIntegerField()
    text = models.TextField()
    state = models.CharField(
        max_length=10, choices=SuggestionState.choices, default=SuggestionState.OPEN
    )
    decided_by = models.ForeignKey(
        Member, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["-updated_at", "-id"]
        constraints = [
            models.CheckConstraint(
                name="suggestion_state_is_known", condition=Q(state__in=SuggestionState.values)
            )
        ]

    def __str__(self) -> str:
        return f"{self.state}: {self.text[:50]}"
