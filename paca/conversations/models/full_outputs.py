"""The tables of full outputs: what the log shows only in part, whole, for people to download."""

from django.db import models

from paca.conversations.models.calls import ToolCall


class FullOutput(models.Model):
    """The full output of a tool call. ``size_bytes`` is null until every part is stored.

    ``stored_bytes`` is what its compressed parts take.
    """

    call = models.OneToOneField(
        ToolCall, on_delete=models.CASCADE, primary_key=True, related_name="full_output"
    )
    size_bytes = models.BigIntegerField(null=True)
    stored_bytes = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.call_id)


class FullOutputPart(models.Model):
    """One part of a full output, compressed by zlib."""

    id = models.BigAutoField(primary_key=True)
    output = models.ForeignKey(
        FullOutput, on_delete=models.CASCADE, related_name="parts", db_index=False
    )
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["output", "number"], name="full_output_part_number_is_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.output_id} {self.number}"
