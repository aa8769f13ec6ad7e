"""The bus: how processes wake one another. ``get_bus`` gives the bus of this process."""

import threading

from paca.bus.base import Bus
from paca.bus.memory import MemoryBus

_url = ""
_bus: Bus | None = None
_lock = threading.Lock()


def configure(url: str) -> None:
    """Set the address of the Redis that connects the processes; empty if there is only one process.

    Call it before the first ``get_bus``.
    """
    global _url
    _url = url


def get_bus() -> Bus:
    """The bus of this process, the same for every thread."""
    global _bus
    if _bus is None:
        with _lock:
            if _bus is None:
                _bus = _make_bus()
    return _bus


def _make_bus() -> Bus:
    if not _url:
        return MemoryBus()
    from paca.bus.redis.bus import RedisBus  # the library is loaded only where it is used

    return RedisBus(_url)
