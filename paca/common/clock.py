"""The monotonic clock of this process. Tests replace it by a clock that they move themselves."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Clock(Protocol):
    """Measures how much time has passed. Unlike the wall clock, it is never set back."""

    def monotonic(self) -> float:
        """Seconds since a fixed moment in the past."""
        ...


_clock: Clock = time


def monotonic() -> float:
    """Seconds since a fixed moment in the past, by the clock in use."""
    return _clock.monotonic()


@contextmanager
def use(clock: Clock) -> Iterator[None]:
    """Use another clock in this process until the context ends."""
    global _clock
    before, _clock = _clock, clock
    try:
        yield
    finally:
        _clock = before
