"""The settings of a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from django.conf import settings


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How many conversations a worker runs at once, and its times in seconds."""

    concurrency: int
    lease_seconds: float
    sandbox_idle_seconds: float
    sandbox_paused_seconds: float = 3600
    pool_size: int = 0

    @classmethod
    def from_settings(cls, concurrency: int) -> Self:
        """The settings of the installation, with the concurrency of this worker."""
        return cls(
            concurrency=concurrency,
            lease_seconds=settings.WORKER_LEASE_SECONDS,
            sandbox_idle_seconds=settings.SANDBOX_IDLE_SECONDS,
            sandbox_paused_seconds=settings.SANDBOX_PAUSED_SECONDS,
            pool_size=settings.SANDBOX_POOL_SIZE,
        )
