"""The tables of model calls and tool calls."""

from django.db import models
from django.db.models import Q

from paca.conversations.models.conversation import Conversation
from paca.conversations.models.statuses import ModelCallStatus, ToolCallState
from paca.projects.models import Project


class ModelCallPurpose(models.TextChoices):
    """What a model is called for: a turn's step, or one of the works around it."""

    TURN = "turn"
    TITLE = "title"
    MEMORY = "memory"
    COMPACTION = "compaction"
    HELPER = "helper"
    CONNECTION_TEST = "connection_test"


class ModelCall(models.Model):
    """One attempt to get a reply from a model. Unknown tokens and costs are null.

    A call outside a conversation, such as a connection test, has no ``conversation`` and no ``turn``. The
    row stays when its conversation is deleted: it says what was paid, and nothing that was said.
    ``project`` and ``agent`` are null only in a row that a worker of a former version has written, until
    ``services.model_calls`` fills them in.

    Budgets count the tokens and the cost, and what is held beside them: what a running call may take at most, and
    what an ended one is estimated to have taken if its server did not tell.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    # The indexes below begin with project and agent.
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, db_index=False, related_name="+"
    )
    agent = models.ForeignKey(
        "agents.Agent", on_delete=models.PROTECT, null=True, db_index=False, related_name="+"
    )
    conversation = models.ForeignKey(
        Conversation,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="model_calls",
    )
    purpose = models.CharField(
        max_length=20,
        choices=ModelCallPurpose.choices,
        default=ModelCallPurpose.TURN,
        db_default=ModelCallPurpose.TURN,
    )
    turn = models.PositiveIntegerField(null=True, blank=True)
    attempt = models.PositiveIntegerField(default=1)
    model = models.CharField(max_length=200)
    # Whose key it was asked with: agent, user, project or server; empty without a key.
    key_source = models.CharField(max_length=10, blank=True, default="", db_default="")
    status = models.CharField(
        max_length=10, choices=ModelCallStatus.choices, default=ModelCallStatus.STARTED
    )
    input_tokens = models.BigIntegerField(default=0, null=True)
    output_tokens = models.BigIntegerField(default=0, null=True)
    cache_read_tokens = models.BigIntegerField(default=0, null=True)
    cache_write_tokens = models.BigIntegerField(default=0, null=True)
    cost_usd = models.FloatField(null=True)
    held_tokens = models.BigIntegerField(default=0, db_default=0)
    held_usd = models.FloatField(default=0, db_default=0.0)
    epoch = models.BigIntegerField(default=0)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # A usage report reads some days of a project with thousands of calls a day, a budget the
            # day of an agent.
            models.Index(fields=["project", "started_at"], name="model_call_of_day"),
            models.Index(fields=["agent", "started_at"], name="model_call_of_agent"),
        ]
        constraints = [
            models.CheckConstraint(
                name="model_call_status_is_known", condition=Q(status__in=ModelCallStatus.values)
            ),
            models.CheckConstraint(
                name="model_call_purpose_is_known",
                condition=Q(purpose__in=ModelCallPurpose.values),
            ),
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
