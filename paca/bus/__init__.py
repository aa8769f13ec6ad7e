"""How processes wake one another; ``get_bus`` gives this process's way to do it."""

import functools

from paca.bus.base import Bus
from paca.bus.memory import MemoryBus


@functools.cache
def get_bus() -> Bus:
    """The bus of this process, the same for every thread."""
    return MemoryBus()
