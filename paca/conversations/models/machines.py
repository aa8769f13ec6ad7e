"""Who runs conversations, and where their commands run."""

from django.db import models

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation


class Worker(models.Model):
    """One life of a worker process: host, pid and the process's start time."""

    id = models.CharField(primary_key=True, max_length=100)
    host = models.CharField(max_length=100)
    pid = models.PositiveIntegerField()
    process_started = models.CharField(max_length=40)
    concurrency = models.PositiveIntegerField()
    draining = models.BooleanField(default=False)
    started_at = models.DateTimeField(auto_now_add=True)
    heartbeat_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.id


class Sandbox(BaseModel):
    """Which sandbox belongs to which conversation."""

    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, related_name="sandbox"
    )
    backend = models.CharField(max_length=20)
    boot_id = models.CharField(max_length=64)
    state = models.CharField(max_length=10, default="running")
    last_used_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.backend} {self.state}"
