"""Which requests the gate refused while a command ran, in words for its agent.

A file for each running command says how long the list of connections was when it started. So a worker that follows a
command which another one started, or which runs in the background, tells the same.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from paca.engine.workspace import CallReport, CommandOutcome
from paca.sandbox.egress import reasons
from paca.sandbox.egress.booking import read_lines
from paca.sandbox.egress.folders import BOOKED_NAME, MARKS_NAME
from paca.sandbox.egress.reasons import Reason

MAX_NAMED = 5
MAX_READ_BYTES = 1 << 18
NOT_YET = (
    "This sandbox was started when it had no network. It is started again with one, and with its files, at the "
    "begin of a turn when nothing runs in the background."
)


class Refusals:
    """Reads what the gate has booked. ``gate``: the folder that the sandbox sees; None for one without a network.

    ``has_gate``: whether the sandbox was started with it.
    """

    def __init__(self, gate: Path | None, *, has_gate: bool = True) -> None:
        self._folder = None if gate is None else gate.parent
        self._not_yet = (NOT_YET,) if gate is not None and not has_gate else ()

    def begin(self, call_id: str) -> None:
        """Remember the place in the list of connections before a command starts, once."""
        if (mark := self._mark(call_id)) is None:
            return
        with suppress(OSError):
            mark.parent.mkdir(exist_ok=True, mode=0o700)
            with mark.open("x", encoding="ascii") as file:
                file.write(str(self._booked_bytes()))

    def add_to(self, outcome: CommandOutcome, call_id: str) -> CommandOutcome:
        """The outcome of a command that has ended, with what was refused since its begin.

        Other commands of that time count too. A sandbox that has no network yet tells it once.
        """
        if (mark := self._mark(call_id)) is None:
            return outcome
        found, self._not_yet = self._not_yet + self._since(mark), ()
        with suppress(OSError):
            mark.unlink()
        return replace(outcome, refused=found) if found else outcome

    def add_to_report(self, report: CallReport, call_id: str) -> CallReport:
        """The report on a command that may run on, with what was refused since its begin."""
        if (mark := self._mark(call_id)) is None or not (found := self._since(mark)):
            return report
        return replace(report, refused=found)

    def _mark(self, call_id: str) -> Path | None:
        """The file of a call, whose id may come from a provider of models and be any text."""
        if self._folder is None:
            return None
        # guard: egress-names-of-marks-are-safe
        name = hashlib.sha256(call_id.encode("utf-8", "backslashreplace")).hexdigest()
        return self._folder / MARKS_NAME / name

    def _booked_bytes(self) -> int:
        assert self._folder is not None
        try:
            return (self._folder / BOOKED_NAME).stat().st_size
        except OSError:
            return 0

    def _since(self, mark: Path) -> tuple[str, ...]:
        assert self._folder is not None
        try:
            begin = int(mark.read_text(encoding="ascii"))
            lines, _ = read_lines(self._folder / BOOKED_NAME, begin, most=MAX_READ_BYTES)
        except (OSError, ValueError):
            return ()
        texts = dict.fromkeys(
            reasons.sentence(line.reason, line.host, line.port)
            for line in lines
            if line.reason is not Reason.NONE
        )
        named = tuple(texts)[:MAX_NAMED]
        more = len(texts) - len(named)
        return (*named, f"And {more} more.") if more else named
