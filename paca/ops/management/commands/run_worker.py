"""The command that runs conversations apart from the pages: ``manage.py run_worker``."""

import os
import select
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection

from paca.common import clock, process_tuning
from paca.common.errors import ConfigurationError
from paca.conversations.models import Worker
from paca.ops import (
    database_check,
    database_state,
    sandbox_factory,
    split_deployment,
    startup_checks,
    worker_status,
)
from paca.worker.main import WorkerSettings
from paca.worker.thread import WorkerThread

ASK_AGAIN_SECONDS = 1.0
LOOK_SECONDS = 5.0
SANDBOX_ANSWER_SECONDS = 5.0
SIGN_FILE = "worker_turns"


class Command(BaseCommand):
    """Any number of these, on any hosts, beside web processes begun with ``up --no-worker``."""

    help = "Run conversations, on this host, for web processes that run elsewhere or beside it."
    # Its own checks say what to do; Django's would only say what is missing.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--concurrency",
            type=_at_least_one,
            default=settings.WORKER_CONCURRENCY,
            metavar="N",
            help=f"conversations at once (WORKER_CONCURRENCY, now {settings.WORKER_CONCURRENCY})",
        )

    def handle(self, *, concurrency: int, **options: Any) -> None:
        sys.stdout.reconfigure(line_buffering=True, errors="replace")  # type: ignore[union-attr]
        process_tuning.limit_malloc_arenas()
        process_tuning.lower_priority()
        asked_to_end = AskedToEnd()
        split_deployment.check_services()
        split_deployment.check_secrets_are_given()
        self._make_folder()
        if not self._wait_for_tables(asked_to_end):
            return
        split_deployment.check_is_part()
        database_state.check_encryption_key()
        self._run(concurrency, asked_to_end)

    def _make_folder(self) -> None:
        folder = settings.PACA_DATA_DIR
        startup_checks.data_folder(folder)
        if not folder.exists():
            startup_checks.make_folder(folder)

    def _wait_for_tables(self, asked_to_end: "AskedToEnd") -> bool:
        """Wait for a database that is on its way; False if asked to end meanwhile."""
        said = ""
        while waits_for := _not_ready():
            if waits_for != said:
                self._todo("Database", waits_for)
                said = waits_for
            if asked_to_end.within(ASK_AGAIN_SECONDS):
                return False
        self._done("Database", database_check.name(brief=True))
        return True

    def _run(self, concurrency: int, asked_to_end: "AskedToEnd") -> None:
        worker = WorkerThread(
            WorkerSettings.from_settings(concurrency), sandbox_factory.new_manager()
        )
        worker.start()
        worker.wait_until_ready()
        self._tell_of_sandboxes(worker.id, asked_to_end)
        connection.close()  # of this thread, which only waits from here on
        self._done("Worker", f"takes up to {concurrency} conversations (SIGTERM ends it)")
        sign = settings.PACA_DATA_DIR / SIGN_FILE
        while worker.is_alive() and not asked_to_end.within(LOOK_SECONDS):
            if worker.is_responsive:
                sign.touch()  # for whoever watches the container (scripts/container_health.py)
        worker.drain()
        if worker.is_alive():
            self.stderr.write("The worker did not end in time: its conversations are taken over.")
            os._exit(1)  # its threads would keep the process
        self._done("Worker", "has ended; what it had begun goes on in the next one")

    def _tell_of_sandboxes(self, worker_id: str, asked_to_end: "AskedToEnd") -> None:
        """What the worker has found out about them, if that does not take long."""
        end = clock.monotonic() + SANDBOX_ANSWER_SECONDS
        told = Worker.objects.filter(pk=worker_id).exclude(sandbox="")
        while (found := told.first()) is None and clock.monotonic() < end:
            if asked_to_end.within(0.1):
                return
        if found is None:
            self._todo("Sandbox", "not known yet; manage.py doctor tells")
        elif found.sandbox_fault:
            self._todo("Sandbox", found.sandbox_fault)
        else:
            self._done("Sandbox", found.sandbox)
        if trouble := worker_status.scattered():
            self._todo("Sandbox", trouble)

    def _done(self, part: str, meaning: str) -> None:
        self.stdout.write(f"{self.style.SUCCESS('✓')} {part:<12} {meaning}")

    def _todo(self, part: str, meaning: str) -> None:
        self.stdout.write(f"{self.style.WARNING('!')} {part:<12} {meaning}")


class AskedToEnd:
    """The first SIGTERM or SIGINT asks this process to end, the second ends it at once."""

    def __init__(self) -> None:
        self._asked = False
        # A pipe, since a handler may interrupt this thread anywhere, also inside a lock.
        self._hears, self._tells = os.pipe()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)

    def within(self, seconds: float) -> bool:
        """Wait this long for it, at most."""
        select.select([self._hears], [], [], seconds)
        return self._asked

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            os._exit(128 + number)
        self._asked = True
        os.write(self._tells, b".")


def _not_ready() -> str:
    """What the database still lacks; empty when work can begin. Raises what waiting does not mend."""
    try:
        database_check.is_there()
    except ConfigurationError as error:
        return f"waiting: {error.detail} Next step: {error.facts.get('next_step', '')}"
    state = database_state.look()
    if state.is_current:
        return (
            "" if split_deployment.is_entered() else "waiting for a web process to start on it once"
        )
    return (
        f"waiting for a web process to make its tables ({state.to_apply} migrations): "
        "manage.py up --no-worker"
    )


def _at_least_one(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
