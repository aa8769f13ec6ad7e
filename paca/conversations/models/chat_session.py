"""The table of chat sessions."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.projects.models import Member


class ChatSession(BaseModel):
    """One person's chat with one agent. ``conversation`` is the one that it continues now.

    ``client_id`` is the id that the person's program gave to the first message.
    """

    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="sessions")
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="chat_sessions")
    conversation = models.ForeignKey(
        Conversation, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    client_id = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "member", "client_id"],
                condition=~Q(client_id=""),
                name="chat_is_begun_once_by_its_client_id",
            )
        ]

    def __str__(self) -> str:
        return f"chat session {self.id}"
