"""How processes wake one another; ``get_bus`` gives this process's way to do it."""

import threading

from paca.bus.base import Bus
from paca.bus.memory import MemoryBus

_url = ""
_bus: Bus | None = None
_making = threading.Lock()


def configure(url: str) -> None:
    """Meet the other processes in this Redis; empty: there are none. Before the bus is first used."""
    global _url
    _url = url


def get_bus() -> Bus:
    """The bus of this process, the same for every thread."""
    global _bus
    if _bus is None:
        with _making:
            if _bus is None:
                _bus = _make()
    return _bus


def _make() -> Bus:
    if not _url:
        return MemoryBus()
    from paca.bus.redis.bus import RedisBus  # the library is loaded where it is used

    return RedisBus(_url)
