"""The tables of traces: what the model calls of a conversation sent and got, encrypted."""

from django.db import models

from paca.conversations.models.calls import ModelCallPurpose
from paca.conversations.models.conversation import Conversation


class Trace(models.Model):
    """The trace of one conversation. Its calls are encrypted with its own key, which is stored encrypted.

    ``dropped_calls`` counts calls whose contents were removed because of age or space.
    """

    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, primary_key=True, related_name="trace"
    )
    encrypted_key = models.TextField()
    next_number = models.PositiveIntegerField(default=1)
    stored_bytes = models.BigIntegerField(default=0)
    dropped_calls = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.conversation_id)


class TracedCall(models.Model):
    """The trace of one model call. ``call_id`` is that of its ``ModelCall``, which may be missing.

    Calls are numbered in the order in which they were stored. ``contents`` holds what is new against the call
    before; ``first_number`` is the call whose contents are whole, with which reading begins.
    Times are seconds since ``asked_at``; null: it did not come.
    """

    id = models.BigAutoField(primary_key=True)
    call_id = models.UUIDField(unique=True)
    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="calls", db_index=False)
    number = models.PositiveIntegerField()
    first_number = models.PositiveIntegerField()
    turn = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField()
    purpose = models.CharField(max_length=20, choices=ModelCallPurpose.choices)
    model = models.CharField(max_length=200)
    outcome = models.CharField(max_length=10)
    asked_at = models.DateTimeField(db_index=True)
    first_byte_seconds = models.FloatField(null=True)
    first_token_seconds = models.FloatField(null=True)
    last_byte_seconds = models.FloatField(null=True)
    http_status = models.PositiveIntegerField(null=True)
    request_id = models.CharField(max_length=200, blank=True)
    request_bytes = models.BigIntegerField(default=0)
    omitted_bytes = models.BigIntegerField(default=0)
    contents = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace", "number"], name="traced_call_number_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.outcome}"
