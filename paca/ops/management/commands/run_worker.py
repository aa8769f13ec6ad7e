"""The command that runs conversations in a process of its own: ``manage.py run_worker``."""

import os
import select
import signal
from argparse import ArgumentParser, ArgumentTypeError
from types import FrameType
from typing import Any

from django.conf import settings
from django.db import connection

from paca.common import clock, process_tuning
from paca.common.errors import ConfigurationError
from paca.conversations.models import Worker
from paca.ops import (
    database_check,
    database_state,
    redis_check,
    sandbox_factory,
    split_deployment,
    startup_checks,
    worker_status,
)
from paca.ops.management.status_lines import StatusLines
from paca.worker.thread import WorkerThread
from paca.worker.worker_settings import WorkerSettings

DATABASE_POLL_SECONDS = 1.0
HEARTBEAT_SECONDS = 5.0
SANDBOX_REPORT_SECONDS = 5.0
HEARTBEAT_FILE = "worker_heartbeat"


class Command(StatusLines):
    """Any number of workers may run, on any hosts, beside web processes started by ``up --no-worker``."""

    help = "Run conversations on this host for web processes, which may run on other hosts."
    # Our own checks also say what to do; Django's would only say what is missing.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--concurrency",
            type=_positive_int,
            default=settings.WORKER_CONCURRENCY,
            metavar="N",
            help=f"conversations at once (WORKER_CONCURRENCY, now {settings.WORKER_CONCURRENCY})",
        )

    def handle(self, *, concurrency: int, **options: Any) -> None:
        self.prepare_output()
        process_tuning.limit_malloc_arenas()
        process_tuning.lower_priority()
        shutdown = ShutdownSignal()
        split_deployment.check_services()
        split_deployment.check_secrets_are_given()
        if fault := redis_check.check_access():
            self.print_todo("Redis", fault)
        self._create_data_folder()
        if not self._wait_for_tables(shutdown):
            return
        split_deployment.check_worker_secrets()
        database_state.check_encryption_key()
        self._run(concurrency, shutdown)

    def _create_data_folder(self) -> None:
        folder = settings.PACA_DATA_DIR
        startup_checks.check_data_folder(folder)
        if not folder.exists():
            startup_checks.create_data_folder(folder)

    def _wait_for_tables(self, shutdown: "ShutdownSignal") -> bool:
        """Wait until the database is ready. Gives False if a signal asks to end first."""
        printed = ""
        while problem := _database_problem():
            if problem != printed:
                self.print_todo("Database", problem)
                printed = problem
            if shutdown.wait(DATABASE_POLL_SECONDS):
                return False
        self.print_done("Database", database_check.display_name(brief=True))
        return True

    def _run(self, concurrency: int, shutdown: "ShutdownSignal") -> None:
        worker = WorkerThread(
            WorkerSettings.from_settings(concurrency), sandbox_factory.new_manager()
        )
        worker.start()
        worker.wait_until_ready()
        process_tuning.keep_what_is_loaded()
        self._report_sandbox(worker.id, shutdown)
        connection.close()  # this thread only waits from here on
        self.print_done(
            "Worker", f"takes up to {concurrency} conversations at once (SIGTERM ends it)"
        )
        heartbeat = settings.PACA_DATA_DIR / HEARTBEAT_FILE
        while worker.is_alive() and not shutdown.wait(HEARTBEAT_SECONDS):
            if worker.is_responsive:
                heartbeat.touch()  # read by the health check of containers, scripts/container_health.py
        worker.drain()
        if worker.is_alive():
            self.print_todo(
                "Worker", "did not end in time; other workers take over its conversations"
            )
            os._exit(1)  # its threads would keep the process alive
        self.print_done("Worker", "has ended; other workers continue its conversations")

    def _report_sandbox(self, worker_id: str, shutdown: "ShutdownSignal") -> None:
        """Print what the worker reports about its sandbox backend, if it does so within some seconds."""
        end = clock.monotonic() + SANDBOX_REPORT_SECONDS
        reported = Worker.objects.filter(pk=worker_id).exclude(sandbox="")
        while (found := reported.first()) is None and clock.monotonic() < end:
            if shutdown.wait(0.1):
                return
        if found is None:
            self.print_todo("Sandbox", "not known yet; manage.py doctor will tell")
        elif found.sandbox_fault:
            self.print_todo("Sandbox", found.sandbox_fault)
        else:
            self.print_done("Sandbox", found.sandbox)
        if problem := worker_status.placement_problem():
            self.print_todo("Sandbox", problem)


class ShutdownSignal:
    """The first SIGTERM or SIGINT asks this process to end. The second ends it at once."""

    def __init__(self) -> None:
        self._received = False
        # A pipe, because a signal handler may interrupt this thread anywhere, even while it holds a lock.
        self._read_end, self._write_end = os.pipe()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)

    def wait(self, seconds: float) -> bool:
        """Wait for the signal, this long at most; whether it has come."""
        select.select([self._read_end], [], [], seconds)
        return self._received

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._received:
            os._exit(128 + number)
        self._received = True
        os.write(self._write_end, b".")


def _database_problem() -> str:
    """Why the worker must wait for the database; empty if it is ready.

    Raises ``ConfigurationError`` if waiting does not help.
    """
    try:
        database_check.exists()
    except ConfigurationError as error:
        return f"waiting: {error.detail} Next step: {error.facts.get('next_step', '')}"
    state = database_state.read_migration_state()
    if state.is_current:
        return (
            ""
            if split_deployment.secrets_are_recorded()
            else "waiting for a web process to start once"
        )
    return (
        f"waiting for a web process to apply {state.pending} migrations: manage.py up --no-worker"
    )


def _positive_int(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
