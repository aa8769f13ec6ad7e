"""The tables of requests for the files of a sandbox: a web server writes one, a worker answers it.

They are no history: whoever has read an answer deletes its row, and a sweep deletes those that nobody read.
"""

from __future__ import annotations

from uuid import uuid4

from django.db import models
from django.db.models import Q

from paca.conversations.models.conversation import Conversation


class FileRequestState(models.TextChoices):
    """How far a request is. ``streaming``: parts follow: those of a download after its first answer, or those of an
    upload that no worker may take before they are all there."""

    WAITING = "waiting"
    TAKEN = "taken"
    STREAMING = "streaming"
    DONE = "done"
    FAILED = "failed"


class FileRequest(models.Model):
    """One request for files of a conversation's sandbox, with its answer. ``op`` and ``arguments`` are those of the
    program inside. ``worker`` answers it. ``read_parts`` counts the parts that were read: no more than a few may be stored.
    After ``expires_at`` nobody waits for it.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="file_requests"
    )
    op = models.CharField(max_length=20)
    arguments = models.JSONField(default=dict)
    state = models.CharField(
        max_length=10, choices=FileRequestState.choices, default=FileRequestState.WAITING
    )
    worker = models.CharField(max_length=100, blank=True, db_default="")
    answer = models.JSONField(null=True)
    error_code = models.CharField(max_length=50, blank=True, db_default="")
    error_detail = models.TextField(blank=True, db_default="")
    read_parts = models.PositiveIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="file_request_state_is_known",
                condition=Q(state__in=FileRequestState.values),
            )
        ]
        indexes = [
            models.Index(
                fields=["created_at"],
                name="file_request_waiting",
                condition=Q(state="waiting"),
            )
        ]

    def __str__(self) -> str:
        return f"{self.op} {self.state}"


class FileRequestPart(models.Model):
    """One part of the bytes of an upload or a download; ``number`` counts from 0."""

    id = models.BigAutoField(primary_key=True)
    request = models.ForeignKey(
        FileRequest, on_delete=models.CASCADE, related_name="parts", db_index=False
    )
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["request", "number"], name="file_request_part_number_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.request_id} {self.number}"
