"""The table of workers, the processes that run conversations."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.db.models.functions import Now

# A worker writes a heartbeat every few seconds. After three missed ones it counts as gone.
HEARTBEAT_TIMEOUT_SECONDS = 15.0


class WorkerQuerySet(models.QuerySet["Worker"]):
    """Queries of workers. The clock is the database's, the only one that all processes share."""

    def alive(self) -> WorkerQuerySet:
        """Workers with a recent heartbeat, including those that drain."""
        return self.filter(heartbeat_at__gte=Now() - timedelta(seconds=HEARTBEAT_TIMEOUT_SECONDS))

    def working(self) -> WorkerQuerySet:
        """Live workers that claim conversations."""
        return self.alive().filter(draining=False)


class Worker(models.Model):
    """One run of a worker process: its host, its pid there and the start time of the process."""

    id = models.CharField(primary_key=True, max_length=100)
    host = models.CharField(max_length=100)
    # Within it a pid names one process (paca/worker/worker_registry.py).
    pid_namespace = models.CharField(max_length=200, default="", db_column="place")
    pid = models.PositiveIntegerField()
    process_started = models.CharField(max_length=40)
    concurrency = models.PositiveIntegerField()
    # What it knows how to run (``worker_versions``). Workers that do not say it are of version 0.
    version = models.PositiveSmallIntegerField(default=0, db_default=0)
    draining = models.BooleanField(default=False)
    # The backend of its sandboxes, blank while unknown, and why commands cannot run there.
    sandbox = models.CharField(max_length=20, blank=True, default="")
    sandbox_fault = models.TextField(blank=True, default="")
    # How many sandboxes it has ended, and workspaces and leftovers it has removed, since it started.
    sandboxes_reaped = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    heartbeat_at = models.DateTimeField()

    objects = WorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return self.id
