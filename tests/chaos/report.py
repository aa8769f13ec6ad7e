"""The report of one chaos part: its progress, its figures, its faults and the folder with their traces."""

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
    """The result of one part on one set-up.

    ``traces``: the folder of process logs and of the logs of faulty conversations.
    """

    title: str
    traces: Path
    figures: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    _printed_at: float = 0
    _seconds: float = 0

    def __post_init__(self) -> None:
        self.traces.mkdir(parents=True, exist_ok=True)
        self.say("begins")

    def say(self, text: str) -> None:
        print(f"  {time.monotonic() - self.began:5.0f} s  {self.title}: {text}", flush=True)

    def progress(self, text: str) -> None:
        """Print the text, unless one was printed in the last ten seconds."""
        if time.monotonic() - self._printed_at > 10:
            self._printed_at = time.monotonic()
            self.say(text)

    def end(self) -> None:
        """Stop the time measurement of the part."""
        self._seconds = time.monotonic() - self.began

    def fault(self, text: str) -> None:
        self.faults.append(text)
        self.say(f"BROKEN {text}")

    def breaches(
        self, observed: ObservedConversation, found: Sequence[Breach], case: str = ""
    ) -> None:
        """Add the breaches that the oracle found, and save the log of the conversation if there are any."""
        for breach in found:
            self.fault(f"{case} {observed.id} {breach}".strip())
        if found:
            log = "\n".join(json.dumps(frame) for frame in observed.frames)
            (self.traces / f"{observed.id}.jsonl").write_text(log + "\n")

    @property
    def line(self) -> str:
        """The result in one line."""
        figures = ", ".join(f"{name} {value}" for name, value in self.figures.items())
        verdict = f"{len(self.faults)} BROKEN, see {self.traces}" if self.faults else "holds"
        return f"{self.title}: {verdict}; {figures}; {self._seconds:.0f} s"


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
