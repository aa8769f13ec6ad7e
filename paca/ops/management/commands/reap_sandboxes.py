"""The command that a worker does not need: ``manage.py reap_sandboxes`` sweeps now what it sweeps each minute."""

import asyncio
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from paca.ops.sandbox_factory import new_manager
from paca.sandbox.base import IdlePolicy
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.sandboxes.sweeper import Sweeper, SweepResult


class Command(BaseCommand):
    """Safe beside workers, and while conversations run: what is held or was just used stays."""

    help = "End sandboxes that nobody uses, and remove what belongs to no conversation."

    def handle(self, **options: Any) -> None:
        database = Database()
        try:
            reaped = asyncio.run(_swept(database, new_manager()))
        finally:
            database.close()
        self.stdout.write(f"{reaped}.")


async def _swept(database: Database, sandboxes: SandboxManager) -> SweepResult:
    patience = IdlePolicy(settings.SANDBOX_IDLE_SECONDS, settings.SANDBOX_PAUSED_SECONDS)
    return await Sweeper("", database, sandboxes, patience).sweep(set())
