"""The tables of model calls and tool calls."""

from django.db import models
from django.db.models import Q

from paca.conversations.models.conversation import Conversation
from paca.conversations.models.statuses import ModelCallStatus, ToolCallState


class ModelCall(models.Model):
    """One attempt to get a reply from a model. Unknown tokens and costs are null."""

    id = models.UUIDField(primary_key=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="model_calls"
    )
    turn = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    model = models.CharField(max_length=200)
    status = models.CharField(
        max_length=10, choices=ModelCallStatus.choices, default=ModelCallStatus.STARTED
    )
    input_tokens = models.BigIntegerField(default=0, null=True)
    output_tokens = models.BigIntegerField(default=0, null=True)
    cache_read_tokens = models.BigIntegerField(default=0, null=True)
    cache_write_tokens = models.BigIntegerField(default=0, null=True)
    cost_usd = models.FloatField(null=True)
    epoch = models.BigIntegerField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="model_call_status_is_known", condition=Q(status__in=ModelCallStatus.values)
            )
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.status}"


class ToolCall(models.Model):
    """One call of a tool: its intent, the boot id of the runner that it started in, and its outcome."""

    id = models.UUIDField(primary_key=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="tool_calls"
    )
    turn = models.PositiveIntegerField()
    tool = models.CharField(max_length=100)
    arguments_hash = models.CharField(max_length=64)
    effect = models.CharField(max_length=20)
    state = models.CharField(
        max_length=10, choices=ToolCallState.choices, default=ToolCallState.CALLED
    )
    cause = models.CharField(max_length=20, blank=True)
    exit_code = models.IntegerField(null=True)
    boot_id = models.CharField(max_length=64, blank=True)
    epoch = models.BigIntegerField()
    called_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="tool_call_state_is_known", condition=Q(state__in=ToolCallState.values)
            )
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.state}"
