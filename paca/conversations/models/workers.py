"""Who runs conversations, and where their commands run."""

from datetime import timedelta

from django.db import models
from django.db.models.functions import Now

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation

# A worker says every few seconds that it lives; after three silences it counts as gone.
SIGN_OF_LIFE_SECONDS = 15.0


class WorkerQuerySet(models.QuerySet["Worker"]):
    """Reads in the product's words. The clock is the database's, the only one that all share."""

    def alive(self) -> "WorkerQuerySet":
        """Those heard of a moment ago, also while they end."""
        return self.filter(heartbeat_at__gte=Now() - timedelta(seconds=SIGN_OF_LIFE_SECONDS))

    def working(self) -> "WorkerQuerySet":
        """Those that take conversations."""
        return self.alive().filter(draining=False)


class Worker(models.Model):
    """One life of a worker process: where it runs, its pid there and the process's start time."""

    id = models.CharField(primary_key=True, max_length=100)
    host = models.CharField(max_length=100)
    # Within one place a pid means the same process to everybody (paca/worker/worker_registry.py).
    place = models.CharField(max_length=200, default="")
    pid = models.PositiveIntegerField()
    process_started = models.CharField(max_length=40)
    concurrency = models.PositiveIntegerField()
    draining = models.BooleanField(default=False)
    # The backend of its sandboxes, and why commands cannot run there; no backend: not known yet.
    sandbox = models.CharField(max_length=20, blank=True, default="")
    sandbox_fault = models.TextField(blank=True, default="")
    # How many sandboxes, workspaces and leftovers it has removed since it began.
    sandboxes_reaped = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    heartbeat_at = models.DateTimeField()

    objects = WorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return self.id


class SandboxState:
    """What a row may say of its sandbox. The files are there in every one of them."""

    RUNNING, PAUSED, ENDED = "running", "paused", "ended"
    FREEING = "freeing"  # a person wants the files gone: by the next sweep, or before the next turn
    LIVING = (RUNNING, PAUSED)


class Sandbox(BaseModel):
    """Which sandbox belongs to which conversation."""

    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, related_name="sandbox"
    )
    backend = models.CharField(max_length=20)
    boot_id = models.CharField(max_length=64)
    state = models.CharField(max_length=10, default="running")
    # Where Docker has its files; blank: in the volume that is named after the conversation.
    volume = models.CharField(max_length=120, blank=True, db_default="")
    last_used_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.backend} {self.state}"


class ReadySandbox(models.Model):
    """A container that waits in a worker for any conversation, with its empty volume.

    Whoever removes the row decides what becomes of it: a run takes it, or it is removed.
    """

    volume = models.CharField(primary_key=True, max_length=120)
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="ready_sandboxes")
    made_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.volume
