"""Makes the manager of sandboxes as the settings say, and knows whether commands can run here."""

import asyncio
import hashlib
import threading
import time

from django.conf import settings

from paca.sandbox.manager import SandboxManager

ASK_AGAIN_SECONDS = 30.0


def new_manager() -> SandboxManager:
    """As the settings say. The installation's name follows from its data folder: two never meet."""
    folder = settings.PACA_DATA_DIR.resolve()
    return SandboxManager(
        kind=settings.PACA_SANDBOX,
        data_dir=folder,
        install_id=hashlib.sha256(str(folder).encode()).hexdigest()[:12],
        idle_seconds=settings.SANDBOX_IDLE_SECONDS,
    )


class _Availability:
    """Asking starts a sandbox, so the answer is kept: for good if it is yes, else for a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._asked_at = float("-inf")

    def reason_against(self) -> str | None:
        with self._lock:
            known = self._asked_at > float("-inf") and self._reason is None
            if not known and time.monotonic() - self._asked_at > ASK_AGAIN_SECONDS:
                # A manager and a loop of their own: the other manager lives in the worker's loop.
                self._reason = asyncio.run(new_manager().unavailable())
                self._asked_at = time.monotonic()
            return self._reason


_availability = _Availability()


def unavailable() -> str | None:
    """None if commands can run here, else one sentence: why not, and what to do."""
    return _availability.reason_against()
