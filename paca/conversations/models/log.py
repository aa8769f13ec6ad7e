"""The log of a conversation: append-only rows, and the bodies too large for one."""

from django.db import models
from django.db.models import Q

from paca.conversations.models.conversation import Conversation


class Blob(models.Model):
    """A payload over 64 KiB, kept once by its sha256."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    body = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.sha256


class Event(models.Model):
    """One entry. ``payload`` is the JSON text of the event's facts, or empty with a ``blob``.

    The key is a plain number: the log is read by (conversation, seq) only, and a random key
    would spread each append over the whole index.
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
