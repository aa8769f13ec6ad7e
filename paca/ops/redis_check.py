"""Checks the Redis that connects the processes, before the start and while Paca runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings

from paca.common.errors import ConfigurationError

if TYPE_CHECKING:  # redis is imported only where it is used
    from paca.bus.redis.server_state import RedisFault


def check_access() -> str:
    """Check the Redis of REDIS_URL before the start; gives why it cannot be used now, or nothing.

    Paca starts while Redis is away: work goes on, up to two seconds late.
    Raises ``ConfigurationError`` if it rejects the user, the password or what Paca does.
    """
    fault = find_fault()
    if fault is None:
        return ""
    if fault.for_good:
        detail = fault.detail.rstrip(".")
        raise ConfigurationError(
            f"the Redis at {_address()} {fault.meaning}: {detail}.",
            next_step=f"{fault.next_step}.",
        )
    return f"{fault.meaning}: text is not streamed, and answers appear up to 2 s late"


def find_fault() -> RedisFault | None:
    """Why hints do not travel between processes; None if they do, or if there is only one process."""
    if not settings.REDIS_URL:
        return None
    from paca.bus.redis import server_state

    return server_state.find_fault(settings.REDIS_URL)


def bus_fault() -> str:
    """What is wrong with the bus, without names and addresses; empty if it works."""
    fault = find_fault()
    return fault.meaning if fault else ""


def find_risks() -> list[tuple[str, str]]:
    """What endangers entries that wait in Redis, each with the next step."""
    from paca.bus.redis import server_state

    return server_state.find_risks(settings.REDIS_URL) if settings.REDIS_URL else []


def _address() -> str:
    parts = urlsplit(settings.REDIS_URL)
    return f"{parts.hostname}:{parts.port or 6379}"
