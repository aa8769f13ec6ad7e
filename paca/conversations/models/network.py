"""The tables of what the sandboxes of conversations have reached over the network."""

from __future__ import annotations

from django.db import models

from paca.conversations.models.conversation import Conversation


class NetworkUse(models.Model):
    """All connections of a conversation to one host and port, as the network gate has booked them.

    ``reason``: why the gate refused or cut them, as in ``sandbox/egress/reasons.py``; empty if it did not.
    """

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="network_uses"
    )
    host = models.CharField(max_length=253, blank=True)
    port = models.PositiveIntegerField()
    reason = models.CharField(max_length=20, blank=True)
    connections = models.PositiveIntegerField(default=0)
    sent_bytes = models.PositiveBigIntegerField(default=0)
    received_bytes = models.PositiveBigIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        ordering = ["-last_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "host", "port", "reason"],
                name="network_use_is_one_row_for_each_host_port_and_reason",
            )
        ]

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class NetworkBook(models.Model):
    """How far a file of a gate is counted in ``NetworkUse``: a worker may die between two lines."""

    id = models.CharField(primary_key=True, max_length=32, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="network_books"
    )
    read_bytes = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return self.id
