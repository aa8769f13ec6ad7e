"""The tables of the event log: append-only rows, and the payloads that are too large for a row."""

from django.db import models
from django.db.models import Q

from paca.conversations.models.conversation import Conversation


class Blob(models.Model):
    """A payload over 64 KiB. Equal payloads are stored once, by their sha256."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    body = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.sha256


class Event(models.Model):
    """One event. ``payload`` is the JSON text of its facts; it is empty if there is a ``blob``.

    The primary key is a plain number: the log is read by conversation and ``seq`` only, and random
    keys would spread the appended rows over the whole index.
    """

    id = models.BigAutoField(primary_key=True)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="events", db_index=False
    )
    seq = models.BigIntegerField()
    type = models.CharField(max_length=60)
    source = models.CharField(max_length=60)
    turn = models.PositiveIntegerField(null=True)
    epoch = models.BigIntegerField(default=0)
    at = models.DateTimeField()
    payload = models.TextField(blank=True)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "seq"], name="event_seq_is_unique_in_conversation"
            ),
            models.CheckConstraint(name="event_seq_starts_at_one", condition=Q(seq__gte=1)),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"
