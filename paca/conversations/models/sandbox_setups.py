"""The setup of sandboxes: what the setup commands of a project and an agent installed, once for all their sandboxes."""

from django.db import models

from paca.agents.models import Agent
from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.projects.models import Project


class SetupState(models.TextChoices):
    """The states of a setup."""

    BUILDING = "building"
    READY = "ready"
    FAILED = "failed"


class SandboxSetup(BaseModel):
    """One run of setup commands, and the files that it left.

    ``key``: the commands, the image and the network, as ``SetupPlan`` has them. ``image``: the digest of the image;
    without images, what tells the programs of this server. ``place``: the Docker daemon or the data folder that has the files. ``files``: what the workspace
    of the sandbox that ran the commands is named after; each attempt has another one. ``worker`` builds until ``lease_until``. ``network``: the
    hosts that the commands reached, or wanted to. ``retired_at``: no new sandbox gets it any more.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.SET_NULL, null=True, related_name="+")
    key = models.CharField(max_length=64)
    image = models.CharField(max_length=100, blank=True)
    backend = models.CharField(max_length=20)
    place = models.CharField(max_length=64)
    files = models.UUIDField(unique=True)
    state = models.CharField(max_length=10, choices=SetupState.choices)
    worker = models.CharField(max_length=100)
    lease_until = models.DateTimeField()
    output = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    network = models.JSONField(default=list, db_default=[])
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-started_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["key", "image", "place"],
                condition=models.Q(retired_at=None),
                name="setup_is_built_once",
            ),
            models.CheckConstraint(
                name="setup_state_is_known", condition=models.Q(state__in=SetupState.values)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.backend} {self.state}"


class SetupUse(models.Model):
    """The setup whose files the sandbox of a conversation was last started with."""

    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    setup = models.ForeignKey(SandboxSetup, on_delete=models.CASCADE, related_name="uses")
    used_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.conversation_id)
