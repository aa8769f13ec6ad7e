"""The command that starts Paca: ``manage.py up``."""

import socket
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from paca.web import preflight, stored


class Command(BaseCommand):
    """First everything is checked, then what is missing is made, then web and worker start."""

    help = "Start Paca in one process: make what is missing, then run web server and worker."
    # Django's checks need the secrets, which the first start has yet to make.
    requires_system_checks = ()

    def handle(self, **options: Any) -> None:
        sys.stdout.reconfigure(line_buffering=True, errors="replace")  # type: ignore[union-attr]
        listener, before = self._check()
        address = f"http://{_host(settings.PACA_BIND)}:{listener.getsockname()[1]}"
        self._make(before, address)
        self._tell_what_works()
        self._run(listener, address)

    def _check(self) -> tuple[socket.socket, stored.Stored]:
        """Find every reason not to start before anything is made."""
        folder = settings.PACA_DATA_DIR
        self._done("Python", preflight.interpreter())
        preflight.admin_password()
        place = preflight.data_folder(folder)
        if folder.exists():
            preflight.lock(folder)
        self._done("Data", place)
        listener = preflight.listener(settings.PACA_BIND, settings.PACA_PORT)
        before = stored.look()
        if before.is_current:
            stored.check_encryption_key()
        has_password = before.is_current and stored.admin_has_a_password()
        reach = preflight.exposure(settings.PACA_BIND, admin_has_a_password=has_password)
        self._done("Port", f"{listener.getsockname()[1]}, {reach}")
        return listener, before

    def _make(self, before: stored.Stored, address: str) -> None:
        folder = settings.PACA_DATA_DIR
        if not folder.exists():
            preflight.make_folder(folder)
            preflight.lock(folder)
        made = settings.PACA_KEYS.keep(folder)
        self._done("Secrets", f"made: {', '.join(made)}" if made else "kept")

        from paca.web import firstrun

        if before.is_current:
            self._done("Database", f"{before.file.name}, up to date")
        else:
            firstrun.migrate()
            stored.check_encryption_key()
            self._done("Database", f"{before.file.name}, {before.to_apply} migrations applied")
        self._admin(address)

    def _admin(self, address: str) -> None:
        from paca.web import firstrun

        admin = firstrun.seed()
        if admin is None:
            if not stored.admin_has_a_password():
                again = preflight.manage("sign_in_link admin")
                self._todo("Admin", f"has no password yet; a new link: {again}")
            return
        if settings.PACA_ADMIN_PASSWORD:
            self._done("Admin", f"{admin.username}, with the password of PACA_ADMIN_PASSWORD")
        else:
            self._done("Admin", f"sign in as {admin.username}, once, with this link:")
            self.stdout.write(f"               {address}{firstrun.sign_in_path(admin)}")
        self._done("Demo", "project Demo with the agent @guide")

    def _tell_what_works(self) -> None:
        from paca.web import sandboxes

        if reason := sandboxes.unavailable():
            self._todo("Sandbox", reason)
        else:
            self._done("Sandbox", "bubblewrap: basic isolation, no network")
        if real := stored.agents_with_a_real_model():
            self._done("Model", f"{real} with a real model")
        else:
            self._todo(
                "Model", "demo only. For real answers, give an agent a model and a key: Agents"
            )

    def _run(self, listener: socket.socket, address: str) -> None:
        """The server owns the main thread, the worker its own; the worker ends first."""
        from paca.realtime import server
        from paca.web import sandboxes
        from paca.worker.main import WorkerSettings, WorkerThread

        worker = WorkerThread(
            WorkerSettings(
                concurrency=settings.WORKER_CONCURRENCY,
                lease_seconds=settings.WORKER_LEASE_SECONDS,
                sandbox_idle_seconds=settings.SANDBOX_IDLE_SECONDS,
            ),
            sandboxes.new_manager(),
        )
        worker.start()
        worker.wait_until_ready()
        server.serve(
            listener,
            on_ready=lambda: self.stdout.write(f"\nPaca runs at {address} (Ctrl+C ends it)"),
            before_stop=worker.drain,
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
