"""The command that runs the sandbox sweeper once: ``manage.py reap_sandboxes``. Workers do it each minute."""

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
    """Safe beside running workers: sandboxes that are in use, or were used a moment ago, stay."""

    help = "End unused sandboxes, and remove those that belong to no conversation."

    def handle(self, **options: Any) -> None:
        database = Database()
        try:
            result = asyncio.run(_sweep(database, new_manager()))
        finally:
            database.close()
        self.stdout.write(f"{result}.")


async def _sweep(database: Database, sandboxes: SandboxManager) -> SweepResult:
    idle_policy = IdlePolicy(settings.SANDBOX_IDLE_SECONDS, settings.SANDBOX_PAUSED_SECONDS)
    return await Sweeper("", database, sandboxes, idle_policy).sweep(set())
