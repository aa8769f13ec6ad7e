"""What a conversation asked of models and tools: one row an attempt."""

from django.db import models

from paca.conversations.models.conversation import Conversation


class ModelCall(models.Model):
    """One attempt to get a reply. Null is what is unknown: the price, or what no server told."""

    id = models.UUIDField(primary_key=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="model_calls"
    )
    turn = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    model = models.CharField(max_length=200)
    status = models.CharField(max_length=10, default="started")
    input_tokens = models.BigIntegerField(default=0, null=True)
    output_tokens = models.BigIntegerField(default=0, null=True)
    cache_read_tokens = models.BigIntegerField(default=0, null=True)
    cache_write_tokens = models.BigIntegerField(default=0, null=True)
    cost_usd = models.FloatField(null=True)
    epoch = models.BigIntegerField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.model} {self.status}"


class ToolCall(models.Model):
    """One call of a tool: intent, the runner's life it began in, and outcome."""

    id = models.UUIDField(primary_key=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="tool_calls"
    )
    turn = models.PositiveIntegerField()
    tool = models.CharField(max_length=100)
    arguments_hash = models.CharField(max_length=64)
    effect = models.CharField(max_length=20)
    state = models.CharField(max_length=10, default="called")
    cause = models.CharField(max_length=20, blank=True)
    exit_code = models.IntegerField(null=True)
    boot_id = models.CharField(max_length=64, blank=True)
    epoch = models.BigIntegerField()
    called_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.tool} {self.state}"
