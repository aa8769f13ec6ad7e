"""Creates the sandbox manager from the settings, and checks whether commands can run on this host."""

import asyncio
import hashlib
import threading

from django.conf import settings

from paca.accounts.services import installation
from paca.common import clock
from paca.conversations import sandbox_queries
from paca.ops import database_check
from paca.sandbox import limit_trials
from paca.sandbox.limit_trials import LimitTrials
from paca.sandbox.manager import DockerAddress, SandboxManager

RECHECK_SECONDS = 30.0


def new_manager(*, every_backend: bool = False) -> SandboxManager:
    """A sandbox manager that is configured by the settings.

    ``every_backend``: also with the backends that the settings do not name, which they may have named before.
    """
    return SandboxManager(
        kind="auto" if every_backend else settings.PACA_SANDBOX,
        data_dir=settings.PACA_DATA_DIR.resolve(),
        install_id=install_id(),
        idle_seconds=settings.SANDBOX_IDLE_SECONDS,
        paused_seconds=settings.SANDBOX_PAUSED_SECONDS,
        docker=DockerAddress(
            settings.DOCKER_HOST,
            settings.DOCKER_CERT_PATH,
            settings.AGENT_SANDBOX_IMAGE,
            runtime="" if every_backend else settings.SANDBOX_RUNTIME,
        ),
    )


def install_id() -> str:
    """The id that labels the sandboxes of this installation; the database stores it.

    Raises ``ConfigurationError`` if the database cannot be used.
    """
    if database_check.exists() and installation.can_store_identity():
        return installation.get_or_create_identity(default=_id_of_existing_sandboxes)
    # Without tables there are no conversations, and a sandbox self-test needs no stored id.
    return _derived_id()


def _id_of_existing_sandboxes() -> str:
    """The derived id if sandboxes exist already: installations used it before they stored an id."""
    return _derived_id() if sandbox_queries.any_exist() else ""


def _derived_id() -> str:
    own = f"{settings.SECRET_KEY}\n{settings.DATABASES['default']['NAME']}"
    return hashlib.sha256(own.encode()).hexdigest()[:12]


class _CachedAvailability:
    """Caches whether sandboxes work, because the check starts one. Success is cached for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._manager: SandboxManager | None = None
        self._checked_at = float("-inf")

    def unavailable_reason(self) -> str | None:
        with self._lock:
            is_available = self._checked_at > float("-inf") and self._reason is None
            if not is_available and clock.monotonic() - self._checked_at > RECHECK_SECONDS:
                # A manager of its own: that of the worker belongs to the event loop of the worker.
                self._manager = new_manager()
                self._reason = asyncio.run(self._manager.unavailable_reason())
                self._checked_at = clock.monotonic()
            return self._reason

    @property
    def manager(self) -> SandboxManager | None:
        return self._manager


_availability = _CachedAvailability()


def unavailable_reason() -> str | None:
    """Why commands cannot run on this host and what to do, in one sentence; None if they can.

    Starts a sandbox the first time, which may take seconds.
    """
    return _availability.unavailable_reason()


def manager_of_worker() -> SandboxManager:
    """A manager for a worker in this process, which need not probe again what ``unavailable_reason`` has found."""
    manager = new_manager()
    if _availability.manager is not None:
        manager.adopt_choice(_availability.manager)
    return manager


def try_limits() -> LimitTrials:
    """Try the limits of a sandbox on this host, for some seconds.

    Raises ``SandboxUnavailable`` or ``SandboxGone`` if no sandbox runs that long.
    """

    async def try_on_best_backend() -> LimitTrials:
        return await limit_trials.try_limits(await new_manager().choose_backend())

    return asyncio.run(try_on_best_backend())


def summary() -> str:
    """The backend in use, and why a preferred one is not. Call ``unavailable_reason`` first."""
    manager = _availability.manager
    if manager is None:
        return ""
    return (
        f"{manager.description}. {manager.fallback_reason}"
        if manager.fallback_reason
        else manager.description
    )
