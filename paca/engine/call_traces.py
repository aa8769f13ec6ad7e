"""What the engine tells of its model calls to whoever traces them."""

from __future__ import annotations

from typing import Protocol

from paca.engine.llm.retrying import Attempt
from paca.events import UsageRecorded


class CallTraces(Protocol):
    """Traces the model calls of a turn. Neither method waits, and neither raises."""

    def begin(self, call_id: str) -> None:
        """Record what this attempt, which may start now, sends and gets in the running task."""
        ...

    def end(self, usage: UsageRecorded, attempt: Attempt) -> None:
        """Store the trace of the attempt that has ended so."""
        ...


class NoCallTraces:
    """Traces nothing."""

    def begin(self, call_id: str) -> None:
        """Do nothing."""

    def end(self, usage: UsageRecorded, attempt: Attempt) -> None:
        """Do nothing."""
