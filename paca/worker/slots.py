"""The slots of a worker: how many conversations it works on at once. A run that only waits lends its slot."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

# A worker keeps the lease and the history of each run that waits, so their number is bounded.
MAX_RUNS_PER_SLOT = 10


class Slots:
    """Counts the slots of one worker. Used in its event loop; ``free`` may be read in other threads."""

    def __init__(self, count: int, on_free: Callable[[], None]) -> None:
        """``on_free`` is called when a slot has become free."""
        self._count = count
        self._on_free = on_free
        self._runs = 0
        self._used = 0
        self._returning: deque[asyncio.Future[None]] = deque()

    @property
    def free(self) -> int:
        """How many more conversations may be claimed now. Runs that want their slot back come first."""
        unused = self._count - self._used - len(self._returning)
        return max(0, min(unused, self._count * MAX_RUNS_PER_SLOT - self._runs))

    def take(self) -> Slot:
        """A slot for a conversation that was claimed."""
        self._runs += 1
        self._used += 1
        return Slot(self)

    def end_run(self) -> None:
        """Count one run less. It must have its slot."""
        self._runs -= 1
        self.release()

    def release(self) -> None:
        """Give a slot to the run that has waited longest for one, or to a new conversation."""
        self._used -= 1
        while self._returning and self._used < self._count:
            next_run = self._returning.popleft()
            if not next_run.done():
                self._used += 1
                next_run.set_result(None)
        self._on_free()

    async def take_back(self, *, at_once: bool = False) -> None:
        """Take a slot, in the order of the calls. ``at_once``: the run ends, and does not wait for one."""
        if at_once or (self._used < self._count and not self._returning):
            self._used += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._returning.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._returning = deque(each for each in self._returning if each is not turn)
                self._used += 1
            raise


class Slot:
    """The slot of one run."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._waits = 0

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[None]:
        """Let another conversation use the slot while the run waits inside the block.

        The block ends once the run has a slot again. If the worker dies meanwhile, the lease of the run
        runs out as at any other moment, and the next worker repeats what it waited for.
        """
        self._waits += 1
        if self._waits == 1:
            self._slots.release()
        is_cancelled = False
        try:
            yield
        except asyncio.CancelledError:
            is_cancelled = True
            raise
        finally:
            self._waits -= 1
            if self._waits == 0:
                await self._slots.take_back(at_once=is_cancelled)

    def end(self) -> None:
        """Give the slot back: the run has ended."""
        self._slots.end_run()
