"""What the rig tells people: each part as it goes, its figures, and where the traces of a failure lie."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.chaos.oracle import Breach
    from tests.support.flow import ObservedConversation


@dataclass
class Report:
    """One part on one ground. ``traces``: the logs of its processes, and what it found broken."""

    title: str
    traces: Path
    figures: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    _told_at: float = 0
    _seconds: float = 0

    def __post_init__(self) -> None:
        self.traces.mkdir(parents=True, exist_ok=True)
        self.say("begins")

    def say(self, text: str) -> None:
        print(f"  {time.monotonic() - self.began:5.0f} s  {self.title}: {text}", flush=True)

    def progress(self, text: str) -> None:
        """The same, at most every ten seconds."""
        if time.monotonic() - self._told_at > 10:
            self._told_at = time.monotonic()
            self.say(text)

    def end(self) -> None:
        """The part is over; its line is printed with those of the others."""
        self._seconds = time.monotonic() - self.began

    def fault(self, text: str) -> None:
        self.faults.append(text)
        self.say(f"BROKEN {text}")

    def breaches(self, told: ObservedConversation, found: Sequence[Breach], case: str = "") -> None:
        """Note what the oracle found, and keep the conversation's log."""
        for breach in found:
            self.fault(f"{case} {told.id} {breach}".strip())
        if found:
            log = "\n".join(json.dumps(frame) for frame in told.frames)
            (self.traces / f"{told.id}.jsonl").write_text(log + "\n")

    @property
    def line(self) -> str:
        """The whole part in one line."""
        figures = ", ".join(f"{name} {value}" for name, value in self.figures.items())
        verdict = f"{len(self.faults)} BROKEN, see {self.traces}" if self.faults else "holds"
        return f"{self.title}: {verdict}; {figures}; {self._seconds:.0f} s"


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
