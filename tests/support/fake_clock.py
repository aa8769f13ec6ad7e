"""A clock that a test moves: ``with FakeClock() as clock: clock.advance(15)``."""

from contextlib import ExitStack
from typing import Self

from paca.common import clock


class FakeClock:
    """Satisfies ``paca.common.clock.Clock``, and is the clock of this process while it is entered."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self._entered = ExitStack()

    def monotonic(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds

    def __enter__(self) -> Self:
        self._entered.enter_context(clock.use(self))
        return self

    def __exit__(self, *_: object) -> None:
        self._entered.close()
