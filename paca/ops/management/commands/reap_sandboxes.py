"""The command that runs the sandbox sweeper once: ``manage.py reap_sandboxes``. Workers do it each minute."""

import asyncio
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from paca.conversations import sandbox_lifecycle, sandbox_queries
from paca.ops import worker_status
from paca.ops.sandbox_factory import new_manager
from paca.sandbox.base import IdlePolicy
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.sandboxes import removal
from paca.worker.sandboxes.sweeper import Sweeper, SweepResult

KNOWN = {
    "some": "Settings or database name it: run this again when it answers.",
    "none": "Neither settings nor database name it: if you have used it, run this again when it answers.",
}


class Command(BaseCommand):
    """Safe beside running workers: sandboxes that are in use, or were used a moment ago, stay."""

    help = "End unused sandboxes, and remove those that belong to no conversation."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--all",
            action="store_true",
            help="show all sandboxes of this installation, before you remove it; with --yes remove them",
        )
        parser.add_argument(
            "--yes", action="store_true", help="with --all: remove them and their files"
        )

    def handle(self, **options: Any) -> None:
        if options["all"]:
            self._remove_all(new_manager(every_backend=True), confirmed=options["yes"])
            return
        database = Database()
        try:
            result = asyncio.run(_sweep(database, new_manager()))
        finally:
            database.close()
        self.stdout.write(f"{result}.")

    def _remove_all(self, manager: SandboxManager, *, confirmed: bool) -> None:
        found = removal.find_all(manager)
        missing = self._report_unreachable(found.unreachable)
        if not confirmed:
            self.stdout.write(
                f"{found.number} sandboxes with their files. Remove them with --all --yes."
            )
            return
        workers = worker_status.count_workers()
        if workers.working or workers.draining:
            raise CommandError("A worker is running, and uses them. Stop the workers first.")
        left = asyncio.run(removal.remove_all(manager, found))
        manager.remove_leftovers()
        manager.gates.remove_all()
        self.stdout.write(f"{found.number - left} sandboxes were removed with their files.")
        if left or missing:
            raise CommandError(
                "Some could not be removed. Run this again when their backend answers."
            )
        sandbox_lifecycle.forget_all()

    def _report_unreachable(self, unreachable: tuple[str, ...]) -> bool:
        """Name the backends that did not answer; gives whether one of them is known to have sandboxes."""
        with_sandboxes = sandbox_queries.backends_with_sandboxes() | {settings.PACA_SANDBOX}
        for backend in unreachable:
            known = "some" if backend in with_sandboxes else "none"
            self.stderr.write(
                f"{backend} could not be asked; its sandboxes are not counted. {KNOWN[known]}"
            )
        return any(backend in with_sandboxes for backend in unreachable)


async def _sweep(database: Database, sandboxes: SandboxManager) -> SweepResult:
    idle_policy = IdlePolicy(settings.SANDBOX_IDLE_SECONDS, settings.SANDBOX_PAUSED_SECONDS)
    return await Sweeper("", database, sandboxes, idle_policy).sweep(set())
