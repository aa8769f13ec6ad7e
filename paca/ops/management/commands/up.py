"""The command that starts Paca: ``manage.py up``."""

import socket
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection

from paca.common import process_tuning, sqlite_checkpoint
from paca.common.best_effort import tolerated
from paca.common.errors import ConfigurationError
from paca.ops import (
    advice,
    database_check,
    database_state,
    redis_check,
    split_deployment,
    startup_checks,
)
from paca.ops.management.status_lines import StatusLines


class Command(StatusLines):
    """Checks everything, then creates what is missing, then starts web server and worker."""

    help = "Start Paca in one process: create what is missing, then run web server and worker."
    # Django's checks need the secrets, which the first start has not created yet.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--no-worker",
            action="store_true",
            help="only the web server; start workers separately: manage.py run_worker",
        )
        parser.add_argument(
            "--prepare-only",
            action="store_true",
            help="only create what is missing and apply migrations, then exit: for another web server",
        )

    def handle(self, *, no_worker: bool, prepare_only: bool, **options: Any) -> None:
        self.prepare_output()
        process_tuning.limit_malloc_arenas()
        if no_worker:
            split_deployment.check_services()
            split_deployment.check_secrets_are_given()
        # Several processes may use the data folder at once, unless the database is a file in it.
        shared = no_worker or (prepare_only and not database_check.is_sqlite())
        self._check_host(shared=shared)
        if prepare_only:
            self._check_services()
            self._create_missing(shared=shared)
            self._report_split_services()
            return
        listener = startup_checks.bind_listener(settings.PACA_BIND, settings.PACA_PORT)
        port = listener.getsockname()[1]
        exposure = self._check_services()
        self.print_done("Port", f"{port}, {exposure}")
        address = f"http://{_host_name(settings.PACA_BIND)}:{port}"
        self._create_missing(shared=shared, address=address)
        if no_worker:
            self._report_workers()
            self._serve(listener, address)
        else:
            self._report_sandbox_and_models()
            self._serve(listener, address, before_stop=self._start_worker())

    def _check_host(self, *, shared: bool) -> None:
        """Check the Python and the data folder, before anything is created."""
        folder = settings.PACA_DATA_DIR
        self.print_done("Python", startup_checks.check_python())
        startup_checks.check_admin_password()
        description = startup_checks.check_data_folder(folder)
        if folder.exists():
            startup_checks.lock_data_folder(folder, shared=shared)
        self.print_done("Data", description)

    def _check_services(self) -> str:
        """Check database and Redis, before anything is created; gives who may reach the server."""
        migrations = database_state.read_migration_state()
        split_deployment.check_web_secrets()
        if fault := redis_check.check_access():
            self.print_todo("Redis", fault)
        if migrations.is_current:
            database_state.check_encryption_key()
        has_password = migrations.is_current and database_state.admin_has_a_password()
        return startup_checks.check_exposure(settings.PACA_BIND, admin_has_a_password=has_password)

    def _create_missing(self, *, shared: bool, address: str = "") -> None:
        """Create folder, secrets, tables, admin and demo. ``address``: of this server, if one starts."""
        folder = settings.PACA_DATA_DIR
        if not folder.exists():
            startup_checks.create_data_folder(folder)
            startup_checks.lock_data_folder(folder, shared=shared)
        created = settings.PACA_KEYS.save(folder)
        self.print_done("Secrets", f"created: {', '.join(created)}" if created else "found")

        from paca.ops import bootstrap

        with database_check.migration_lock():
            self._migrate()
            split_deployment.check_web_secrets()  # another host may have started a moment ago
            split_deployment.record_secrets()
            admin, has_new_demo = bootstrap.create_admin_and_demo()
        self._report_admin(admin, address)
        if has_new_demo:
            self.print_done("Demo", "project Demo with three tasks and the agent @guide")

    def _migrate(self) -> None:
        from paca.ops import bootstrap

        state, name = database_state.read_migration_state(), database_check.display_name(brief=True)
        if state.is_current:
            self.print_done("Database", f"{name}, up to date")
        else:
            bootstrap.migrate()
            database_state.check_encryption_key()
            self.print_done("Database", f"{name}, {state.pending} migrations applied")

    def _report_admin(self, admin: Any, address: str) -> None:
        from paca.ops import bootstrap

        if admin is None:
            if not database_state.admin_has_a_password():
                command = advice.manage_command("sign_in_link admin")
                self.print_todo("Admin", f"has no password yet; for a new link: {command}")
            return
        if settings.PACA_ADMIN_PASSWORD:
            self.print_done("Admin", f"{admin.username}, with the password of PACA_ADMIN_PASSWORD")
        else:
            link = "this link" if address else "this path on your server's address"
            self.print_done("Admin", f"sign in as {admin.username}, once, with {link}:")
            self.print_line(f"               {address}{bootstrap.sign_in_path(admin)}")

    def _report_sandbox_and_models(self) -> None:
        from paca.ops import sandbox_factory

        if reason := sandbox_factory.unavailable_reason():
            self.print_todo("Sandbox", reason)
        else:
            self.print_done("Sandbox", sandbox_factory.summary())
        if real := database_state.agents_with_a_real_model():
            self.print_done("Model", f"{real} agent{'s' if real > 1 else ''} with a real model")
        else:
            self.print_todo(
                "Model", "demo only. For real answers, give an agent a model and a key: Agents"
            )

    def _report_split_services(self) -> None:
        try:
            split_deployment.check_services()
        except ConfigurationError as error:
            self.print_todo("Services", f"{error.detail} Next step: {error.facts['next_step']}")

    def _report_workers(self) -> None:
        from paca.ops import worker_status

        if workers := worker_status.count_workers().working:
            self.print_done("Workers", f"{workers} running")
        else:
            self.print_todo("Workers", "none is running; start one: manage.py run_worker")

    def _start_worker(self) -> Callable[[], None]:
        """Start a worker in a thread of its own; gives the function that drains it."""
        from paca.ops import sandbox_factory
        from paca.worker.thread import WorkerThread
        from paca.worker.worker_settings import WorkerSettings

        worker = WorkerThread(
            WorkerSettings.from_settings(settings.WORKER_CONCURRENCY),
            sandbox_factory.manager_of_worker(),
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
        """Run the web server in the main thread; ``before_stop`` ends the worker first."""
        from paca.ops.uvicorn import server

        connection.close()  # this thread only serves from here on
        server.serve(
            listener,
            on_ready=lambda: self._report_ready(address),
            before_stop=before_stop,
        )
        with tolerated("checkpoint at the end"):
            sqlite_checkpoint.empty_log()

    def _report_ready(self, address: str) -> None:
        process_tuning.keep_what_is_loaded()
        self.print_line(f"\nPaca runs at {address} (Ctrl+C ends it)")


def _host_name(bind: str) -> str:
    """The host part of a URL by which this machine reaches the address."""
    if bind in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        return "localhost"
    return f"[{bind}]" if ":" in bind else bind
