"""Makes the manager of sandboxes as the settings say, and knows whether commands can run here."""

import asyncio
import hashlib
import threading

from django.conf import settings

from paca.accounts.services import installation
from paca.common import clock
from paca.conversations.models import Sandbox
from paca.ops import database_check
from paca.sandbox.manager import DockerAddress, SandboxManager

ASK_AGAIN_SECONDS = 30.0


def new_manager() -> SandboxManager:
    """As the settings say."""
    return SandboxManager(
        kind=settings.PACA_SANDBOX,
        data_dir=settings.PACA_DATA_DIR.resolve(),
        install_id=install_id(),
        idle_seconds=settings.SANDBOX_IDLE_SECONDS,
        paused_seconds=settings.SANDBOX_PAUSED_SECONDS,
        docker=DockerAddress(
            settings.DOCKER_HOST, settings.DOCKER_CERT_PATH, settings.AGENT_SANDBOX_IMAGE
        ),
    )


def install_id() -> str:
    """What sandboxes bear of this installation: its identity, which its database keeps."""
    if database_check.is_there() and installation.can_store_identity():
        return installation.get_or_create_identity(default=_known_as)
    # Without tables there is no conversation: what is only tried needs no owner, and asks for no file.
    return _former_id()


def _known_as() -> str:
    """The sandboxes of one that is older than its identity bear its former id, and shall be found."""
    return _former_id() if Sandbox.objects.exists() else ""


def _former_id() -> str:
    own = f"{settings.SECRET_KEY}\n{settings.DATABASES['default']['NAME']}"
    return hashlib.sha256(own.encode()).hexdigest()[:12]


class _Availability:
    """Asking starts a sandbox, so the answer is kept: for good if it is yes, else for a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._manager: SandboxManager | None = None
        self._asked_at = float("-inf")

    def reason_against(self) -> str | None:
        with self._lock:
            known = self._asked_at > float("-inf") and self._reason is None
            if not known and clock.monotonic() - self._asked_at > ASK_AGAIN_SECONDS:
                # A manager and a loop of their own: the other manager lives in the worker's loop.
                self._manager = new_manager()
                self._reason = asyncio.run(self._manager.unavailable_reason())
                self._asked_at = clock.monotonic()
            return self._reason

    @property
    def manager(self) -> SandboxManager | None:
        return self._manager


_availability = _Availability()


def unavailable() -> str | None:
    """None if commands can run here, else one sentence: why not, and what to do."""
    return _availability.reason_against()


def summary() -> str:
    """What commands run in here, and why not in something better; ask ``unavailable`` first."""
    manager = _availability.manager
    if manager is None:
        return ""
    return (
        f"{manager.description}. {manager.fallback_reason}"
        if manager.fallback_reason
        else manager.description
    )
