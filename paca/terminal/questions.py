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

PROMPTS = {
    "approval": "run it? y: yes, n: no, r: yes and the rest> ",
    "plan": "work by this plan? y: yes, n: no> ",
    "question": "your answer, or its number> ",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The command that an answer sends; empty if there is another question first."""

    command: str = ""
    fields: dict[str, Any] = field(default_factory=dict)


class Questions:
    """The open questions. Feedback goes before a reason, and a reason before what a call waits for."""

    def __init__(self) -> None:
        self.asks_feedback = False
        self.call_id = ""  # the call that waits
        self._kind = "approval"
        self._choices: list[str] = []
        self._reason_for = ""

    @property
    def prompt(self) -> str:
        """The question as a prompt; empty if nothing is asked."""
        if self.asks_feedback:
            return "feedback (empty: stop; Ctrl+C: leave)> "
        if self._reason_for:
            return "why not? (empty: no reason)> "
        return PROMPTS[self._kind] if self.call_id else ""

    @property
    def is_busy(self) -> bool:
        """Whether a person is asked for words, which the agent's must not tear apart."""
        return self.asks_feedback or bool(self._reason_for)

    def ask(self, call_id: str, kind: str, data: dict[str, Any]) -> None:
        """Ask for what the call waits for: an approval, a question or a plan. An empty id asks nothing."""
        self.call_id, self._kind = call_id, kind
        choices = data.get("choices") or ()
        self._choices = [str(each.get("label")) for each in choices if isinstance(each, dict)]

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
            return _refusal(self._kind, call_id, text)
        if not self.call_id:
            return None
        if not text:
            return Answer()
        return self._reply(text) if self._kind == "question" else self._decide(text.lower())

    def _reply(self, text: str) -> Answer | None:
        if text.startswith("/"):
            return None
        if text.isdecimal() and 0 < int(text) <= len(self._choices):
            text = self._choices[int(text) - 1]
        return Answer("answer", {"question_id": self.call_id, "text": text})

    def _decide(self, text: str) -> Answer | None:
        decision = DECISIONS.get(text)
        if decision is None or (self._kind == "plan" and decision == "approve_rest"):
            return None
        if decision == "deny":
            self._reason_for = self.call_id
            return Answer()
        command = "plan" if self._kind == "plan" else "approve"
        return Answer(command, {"call_id": self.call_id, "decision": decision})


def _refusal(kind: str, call_id: str, reason: str) -> Answer:
    if kind == "plan":
        return Answer("plan", {"call_id": call_id, "decision": "reject", "feedback": reason})
    return Answer("approve", {"call_id": call_id, "decision": "deny", "reason": reason})
