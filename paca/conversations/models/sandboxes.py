"""The tables of sandboxes: which conversation each belongs to, and the warm pool."""

from django.db import models

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.conversations.models.statuses import STORED_SANDBOX_STATES, SandboxState
from paca.conversations.models.workers import Worker


class Sandbox(BaseModel):
    """The sandbox of a conversation. ``sandbox_lifecycle`` changes its state."""

    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, related_name="sandbox"
    )
    backend = models.CharField(max_length=20)
    boot_id = models.CharField(max_length=64)
    state = models.CharField(
        max_length=10,
        choices=[(each.value, each.label) for each in STORED_SANDBOX_STATES],
        default=SandboxState.RUNNING,
    )
    # The Docker volume of its files. Blank: the volume that is named after the conversation.
    volume = models.CharField(max_length=120, blank=True, db_default="")
    last_used_at = models.DateTimeField()
    # What the workspace held at the end of the last run, and its limit; null if it was not measured.
    workspace_bytes = models.BigIntegerField(null=True)
    workspace_limit_bytes = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="sandbox_state_is_known",
                condition=models.Q(state__in=[each.value for each in STORED_SANDBOX_STATES]),
            )
        ]

    def __str__(self) -> str:
        return f"{self.backend} {self.state}"


class ReadySandbox(models.Model):
    """A container of the warm pool, with its empty volume. It can serve any conversation.

    It belongs to the process that deletes its row: a run then uses it, or a worker removes it.
    """

    volume = models.CharField(primary_key=True, max_length=120)
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="ready_sandboxes")
    made_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.volume
