"""Which requests the gate refused while a command ran, in words for its agent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from paca.engine.workspace import CommandOutcome
from paca.sandbox.egress import reasons
from paca.sandbox.egress.booking import read_lines
from paca.sandbox.egress.folders import BOOKED_NAME
from paca.sandbox.egress.reasons import Reason

MAX_NAMED = 5
MAX_READ_BYTES = 1 << 18


class Refusals:
    """Reads what the gate has booked. ``gate``: the folder that the sandbox sees; None for one without a network."""

    def __init__(self, gate: Path | None) -> None:
        self._booked = None if gate is None else gate.parent / BOOKED_NAME

    def mark(self) -> int:
        """The place in the list of connections before a command starts."""
        if self._booked is None:
            return 0
        try:
            return self._booked.stat().st_size
        except OSError:
            return 0

    def add_to(self, outcome: CommandOutcome, mark: int) -> CommandOutcome:
        """The outcome with what was refused since the mark. Other commands of that time count too."""
        if self._booked is None:
            return outcome
        try:
            lines, _ = read_lines(self._booked, mark, most=MAX_READ_BYTES)
        except OSError:
            return outcome
        texts = dict.fromkeys(
            reasons.sentence(line.reason, line.host, line.port)
            for line in lines
            if line.reason is not Reason.NONE
        )
        named = tuple(texts)[:MAX_NAMED]
        if more := len(texts) - len(named):
            named = (*named, f"And {more} more.")
        return replace(outcome, refused=named) if named else outcome
