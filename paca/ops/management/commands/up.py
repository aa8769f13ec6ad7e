"""The command that starts Paca: ``manage.py up``."""

import socket
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection

from paca.common import process_tuning
from paca.ops import database_check, database_state, split_deployment, startup_checks


class Command(BaseCommand):
    """First everything is checked, then what is missing is made, then web and worker start."""

    help = "Start Paca in one process: make what is missing, then run web server and worker."
    # Django's checks need the secrets, which the first start has yet to make.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--no-worker",
            action="store_true",
            help="only the web server; workers are started apart: manage.py run_worker",
        )

    def handle(self, *, no_worker: bool, **options: Any) -> None:
        sys.stdout.reconfigure(line_buffering=True, errors="replace")  # type: ignore[union-attr]
        process_tuning.limit_malloc_arenas()
        if no_worker:
            split_deployment.check_services()
            split_deployment.check_secrets_are_given()
        listener = self._check(shared=no_worker)
        address = f"http://{_host(settings.PACA_BIND)}:{listener.getsockname()[1]}"
        self._make(address, shared=no_worker)
        if no_worker:
            self._tell_of_workers()
            self._serve(listener, address)
        else:
            self._tell_what_works()
            self._serve(listener, address, before_stop=self._start_worker())

    def _check(self, *, shared: bool) -> socket.socket:
        """Find every reason not to start before anything is made."""
        folder = settings.PACA_DATA_DIR
        self._done("Python", startup_checks.interpreter())
        startup_checks.admin_password()
        place = startup_checks.data_folder(folder)
        if folder.exists():
            startup_checks.lock(folder, shared=shared)
        self._done("Data", place)
        listener = startup_checks.listener(settings.PACA_BIND, settings.PACA_PORT)
        before = database_state.look()
        split_deployment.check_may_enter()
        if before.is_current:
            database_state.check_encryption_key()
        has_password = before.is_current and database_state.admin_has_a_password()
        reach = startup_checks.exposure(settings.PACA_BIND, admin_has_a_password=has_password)
        self._done("Port", f"{listener.getsockname()[1]}, {reach}")
        return listener

    def _make(self, address: str, *, shared: bool) -> None:
        folder = settings.PACA_DATA_DIR
        if not folder.exists():
            startup_checks.make_folder(folder)
            startup_checks.lock(folder, shared=shared)
        made = settings.PACA_KEYS.save(folder)
        self._done("Secrets", f"made: {', '.join(made)}" if made else "kept")

        from paca.ops import bootstrap

        with database_check.alone():
            self._tables()
            split_deployment.check_may_enter()  # another host may have been first, a moment ago
            split_deployment.enter()
            admin = bootstrap.seed()
        self._admin(admin, address)

    def _tables(self) -> None:
        from paca.ops import bootstrap

        before, name = database_state.look(), database_check.name(brief=True)
        if before.is_current:
            self._done("Database", f"{name}, up to date")
        else:
            bootstrap.migrate()
            database_state.check_encryption_key()
            self._done("Database", f"{name}, {before.to_apply} migrations applied")

    def _admin(self, admin: Any, address: str) -> None:
        from paca.ops import bootstrap

        if admin is None:
            if not database_state.admin_has_a_password():
                again = startup_checks.manage("sign_in_link admin")
                self._todo("Admin", f"has no password yet; a new link: {again}")
            return
        if settings.PACA_ADMIN_PASSWORD:
            self._done("Admin", f"{admin.username}, with the password of PACA_ADMIN_PASSWORD")
        else:
            self._done("Admin", f"sign in as {admin.username}, once, with this link:")
            self.stdout.write(f"               {address}{bootstrap.sign_in_path(admin)}")
        self._done("Demo", "project Demo with the agent @guide")

    def _tell_what_works(self) -> None:
        from paca.ops import sandbox_factory

        if reason := sandbox_factory.unavailable():
            self._todo("Sandbox", reason)
        else:
            self._done("Sandbox", sandbox_factory.summary())
        if real := database_state.agents_with_a_real_model():
            self._done("Model", f"{real} with a real model")
        else:
            self._todo(
                "Model", "demo only. For real answers, give an agent a model and a key: Agents"
            )

    def _tell_of_workers(self) -> None:
        from paca.ops import worker_status

        if workers := worker_status.workers().working:
            self._done("Workers", f"{workers} at work")
        else:
            self._todo("Workers", "none yet; start one: manage.py run_worker")

    def _start_worker(self) -> Callable[[], None]:
        """A worker with a thread of its own, beside the server; gives what ends it."""
        from paca.ops import sandbox_factory
        from paca.worker.main import WorkerSettings
        from paca.worker.thread import WorkerThread

        worker = WorkerThread(
            WorkerSettings.from_settings(settings.WORKER_CONCURRENCY), sandbox_factory.new_manager()
        )
        worker.start()
        worker.wait_until_ready()
        return worker.drain

    def _serve(
        self,
        listener: socket.socket,
        address: str,
        before_stop: Callable[[], object] = lambda: None,
    ) -> None:
        """The server owns the main thread; a worker beside it ends first."""
        from paca.ops.uvicorn import server

        connection.close()  # of this thread, which only serves from here on
        server.serve(
            listener,
            on_ready=lambda: self.stdout.write(f"\nPaca runs at {address} (Ctrl+C ends it)"),
            before_stop=before_stop,
        )

    def _done(self, part: str, meaning: str) -> None:
        self.stdout.write(f"{self.style.SUCCESS('✓')} {part:<12} {meaning}")

    def _todo(self, part: str, meaning: str) -> None:
        self.stdout.write(f"{self.style.WARNING('!')} {part:<12} {meaning}")


def _host(bind: str) -> str:
    """The name by which a person at this machine reaches the address."""
    if bind in {"0.0.0.0", "::"}:  # noqa: S104 - compared with, not bound to
        return "localhost"
    return f"[{bind}]" if ":" in bind else bind
