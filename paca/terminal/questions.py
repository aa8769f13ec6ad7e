"""What the terminal client asks a person, and what an answer sends to the server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DECISIONS = {
    "y": "approve",
    "yes": "approve",
    "r": "approve_rest",
    "rest": "approve_rest",
    "n": "deny",
    "no": "deny",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The command that an answer sends; empty if there is another question first."""

    command: str = ""
    fields: dict[str, Any] = field(default_factory=dict)


class Questions:
    """The open questions. Feedback goes before a reason, and a reason before a decision."""

    def __init__(self) -> None:
        self.asks_feedback = False
        self.approval = ""  # the call that a decision is asked for
        self._reason_for = ""

    @property
    def prompt(self) -> str:
        """The question as a prompt; empty if nothing is asked."""
        if self.asks_feedback:
            return "feedback (empty: stop; Ctrl+C: leave)> "
        if self._reason_for:
            return "why not? (empty: no reason)> "
        return "run it? y: yes, n: no, r: yes and the rest> " if self.approval else ""

    @property
    def is_busy(self) -> bool:
        """Whether the next line answers a question that is no decision."""
        return self.asks_feedback or bool(self._reason_for)

    def ask_feedback(self) -> None:
        """Ask for a line that interrupts the agent. A reason that was asked for is not given then."""
        self.asks_feedback, self._reason_for = True, ""

    def answer(self, line: str) -> Answer | None:
        """What the line answers; None if it answers nothing and is a message or a command."""
        text = line.strip()
        if self.asks_feedback:
            self.asks_feedback = False
            return Answer("interrupt", {"text": text}) if text else Answer("stop")
        if self._reason_for:
            call_id, self._reason_for = self._reason_for, ""
            return Answer("approve", {"call_id": call_id, "decision": "deny", "reason": text})
        if not self.approval or text.lower() not in ("", *DECISIONS):
            return None
        decision = DECISIONS.get(text.lower())
        if decision == "deny":
            self._reason_for = self.approval
        if decision in (None, "deny"):
            return Answer()
        return Answer("approve", {"call_id": self.approval, "decision": decision})
