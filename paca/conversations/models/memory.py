"""The memory of agents and projects: what people and agents have noted for later conversations."""

from __future__ import annotations

from typing import Self

from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models import Q

from paca.agents.models import Agent
from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.projects.models import Member, Project

MAX_ENTRY_CHARACTERS = 500


class MemoryState(models.TextChoices):
    """Whether an entry is in the memory. Only accepted entries stand in prompts."""

    WAITING = "waiting", "Waits for a person"
    ACCEPTED = "accepted", "In the memory"
    REFUSED = "refused", "Refused"


class MemoryQuerySet(models.QuerySet["MemoryEntry"]):
    """Queries of entries."""

    def accepted(self) -> Self:
        """Those that are in the memory."""
        return self.filter(state=MemoryState.ACCEPTED)

    def waiting(self) -> Self:
        """Those that wait for a person."""
        return self.filter(state=MemoryState.WAITING)

    def shown(self) -> Self:
        """Those that people see: what they have refused is kept only so that it is not noted again."""
        return self.exclude(state=MemoryState.REFUSED)


class MemoryEntry(BaseModel):
    """One entry, of one line. It belongs to one agent, or to one project and all its agents.

    ``conversation`` is where an agent wrote it. ``fingerprint`` is the same for texts that differ only in case,
    spaces and marks. A waiting entry may replace another one (``replaces``) when it is accepted; without a text it only takes
    that one out. ``checked_by`` is the person who accepted or changed what an agent wrote. ``accepted_at`` tells the age.
    """

    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, null=True, blank=True, related_name="memory_entries"
    )
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="memory_entries"
    )
    text = models.TextField(blank=True, validators=[MaxLengthValidator(MAX_ENTRY_CHARACTERS)])
    fingerprint = models.CharField(max_length=64, editable=False)
    state = models.CharField(max_length=10, choices=MemoryState.choices)
    pinned = models.BooleanField(default=False)
    author = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")
    checked_by = models.ForeignKey(
        Member, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    conversation = models.ForeignKey(
        Conversation, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    replaces = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="replacements"
    )
    accepted_at = models.DateTimeField(null=True, blank=True)

    objects = MemoryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "memory entries"
        ordering = ["created_at", "id"]
        constraints = [
            # So no entry can belong to an agent of one project and to another project.
            models.CheckConstraint(
                name="memory_belongs_to_one_agent_or_one_project",
                condition=Q(agent__isnull=False, project__isnull=True)
                | Q(agent__isnull=True, project__isnull=False),
            ),
            models.CheckConstraint(
                name="memory_state_is_known", condition=Q(state__in=MemoryState.values)
            ),
            models.CheckConstraint(
                name="memory_without_a_text_takes_an_entry_out",
                condition=~Q(text="") | Q(replaces__isnull=False) & ~Q(state=MemoryState.ACCEPTED),
            ),
            models.CheckConstraint(
                name="memory_is_accepted_at_a_time",
                condition=Q(state=MemoryState.ACCEPTED, accepted_at__isnull=False)
                | ~Q(state=MemoryState.ACCEPTED) & Q(accepted_at__isnull=True, pinned=False),
            ),
            models.UniqueConstraint(
                fields=["agent", "fingerprint"],
                condition=Q(agent__isnull=False),
                name="memory_of_an_agent_has_each_text_once",
            ),
            models.UniqueConstraint(
                fields=["project", "fingerprint"],
                condition=Q(project__isnull=False),
                name="memory_of_a_project_has_each_text_once",
            ),
        ]

    def __str__(self) -> str:
        # No text: the audit trail keeps what this gives.
        return f"memory entry {str(self.pk)[:8]}"
