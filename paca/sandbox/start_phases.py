"""The phases of a sandbox's start, and how long each has taken: for the page while it waits, and for errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from paca.common import clock

# Each phase in words that follow "Starting the sandbox: ". The last one is over when the sandbox is ready.
PHASES = {
    "copy": "copying files",
    "check": "asking the backend",
    "setup": "running the setup commands",
    "queue": "waiting for another start to end",
    "create": "creating it",
    "start": "starting it",
}


class StartPhases:
    """Measures the phases of one start. ``seconds`` has those that are over, in their order."""

    def __init__(self) -> None:
        self.phase = "check"
        self.seconds: dict[str, float] = {}
        self._entered = clock.monotonic()

    def enter(self, phase: str) -> None:
        """The phase before is over, and this one begins. A phase may come again."""
        if phase != self.phase:
            self._add()
            self.phase = phase

    def end(self) -> dict[str, float]:
        """The last phase is over; gives the seconds of all."""
        self._add()
        return {phase: round(seconds, 3) for phase, seconds in self.seconds.items()}

    @property
    def total(self) -> float:
        """The seconds since the start began."""
        return sum(self.seconds.values()) + clock.monotonic() - self._entered

    def sentence(self) -> str:
        """Where the time went, such as "39.1 s went by: asking the backend 30.0 s, creating it 9.1 s."."""
        parts = (f"{PHASES[phase]} {seconds:.1f} s" for phase, seconds in self.end().items())
        return f"{self.total:.1f} s went by: {', '.join(parts)}."

    def added_to(self, detail: str) -> str:
        """The detail of an error with the sentence, which has a line of its own after the output of a program."""
        gap = "\n" if "\n" in detail else " "
        return f"{detail}{gap}{self.sentence()}"

    def _add(self) -> None:
        now = clock.monotonic()
        self.seconds[self.phase] = self.seconds.get(self.phase, 0.0) + now - self._entered
        self._entered = now


_current: ContextVar[StartPhases | None] = ContextVar("start_phases", default=None)


@contextmanager
def measure() -> Iterator[StartPhases]:
    """Measure the start that happens within: the backend calls ``enter`` for each phase."""
    phases = StartPhases()
    token = _current.set(phases)
    try:
        yield phases
    finally:
        _current.reset(token)


def enter(phase: str) -> None:
    """A start enters a phase of ``PHASES``; does nothing if none is measured, as for a probe."""
    if (phases := _current.get()) is not None:
        phases.enter(phase)
