"""Plan mode and the approved plan of a conversation: a fold over its log.

It outlives turns, workers, summaries and forks, as the log does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from paca import events
from paca.engine.tools.base import AnyParsedCall, Effect
from paca.events import Event

MAX_STEPS = 20
REFUSAL = (
    "{tool} did not run: this conversation is in plan mode, in which only tools that read may run until a"
    " person {until}. Look at what you need, then {then}."
)
PROPOSE = {"until": "approves a plan", "then": "call propose_plan with the steps"}
# The agent has no tool to propose one.
TELL = {"until": "switches it off", "then": "answer with the steps that you would take"}


class StepState(StrEnum):
    """How far a step of an approved plan is."""

    OPEN = "open"
    STARTED = "started"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan."""

    text: str
    state: str = StepState.OPEN


@dataclass(frozen=True, slots=True)
class PlanState:
    """Whether plan mode is on, the approved plan, and the proposed one that nobody has approved.

    ``proposed`` is its title, ``feedback`` what a person said about it. ``question`` is the newest question to
    people, and ``answer`` what came of it. ``held`` are the calls of the newest reply that began in plan mode.
    """

    mode: bool = False
    title: str = ""
    steps: tuple[PlanStep, ...] = ()
    proposed: str = ""
    feedback: str = ""
    question: tuple[str, str] = ("", "")  # the id of its call, and its text
    answer: str = ""
    held: tuple[str, ...] = ()

    def advance(self, event: Event) -> PlanState:
        """The state after one more event; the same object if nothing changes."""
        match event:
            case events.FlagsChanged(plan=bool() as plan):
                return replace(self, mode=plan)
            case events.PlanProposed(title=title):
                return replace(self, proposed=title, feedback="")
            case events.PlanDecided():
                return self._decide(event)
            case events.PlanChanged(title=title, steps=steps):
                return replace(self, title=title, steps=read_steps(steps))
            case events.QuestionAsked(call_id=call_id, question=question):
                return replace(self, question=(call_id, question), answer="")
            case events.QuestionAnswered(call_id=call_id) if call_id == self.question[0]:
                return replace(self, answer=f"{event.by or 'A person'} answered: {event.text}")
        return self._hold(event)

    def _hold(self, event: Event) -> PlanState:
        """Keep the calls that begin in plan mode, until the next reply."""
        match event:
            case events.ToolStarted(call_id=call_id) if self.mode:
                return replace(self, held=(*self.held, call_id))
            case events.UsageRecorded() if self.held:
                return replace(self, held=())
        return self

    def _decide(self, event: events.PlanDecided) -> PlanState:
        # guard: plan-unknown-decision-rejects
        if event.decision != "approve":
            return replace(self, feedback=event.feedback)
        steps = read_steps(event.steps)
        return replace(
            self, mode=False, title=event.title, steps=steps, proposed="", feedback=event.feedback
        )

    def with_step(self, number: int, state: str) -> PlanState:
        """The state with another state of the step ``number``, counted from 1."""
        steps = list(self.steps)
        steps[number - 1] = replace(steps[number - 1], state=state)
        return replace(self, steps=tuple(steps))

    @property
    def done(self) -> int:
        """How many steps are done."""
        return sum(step.state == StepState.DONE for step in self.steps)

    @property
    def carried(self) -> str:
        """What the agent must know of it after a summary; empty if there is nothing."""
        lines = []
        if self.mode:
            lines.append(
                "Plan mode is on: only tools that read run until a person approves your plan."
            )
        if self.proposed:
            said = f" A person said: {self.feedback}" if self.feedback else ""
            lines.append(f"You proposed the plan {self.proposed}; it is not approved.{said}")
        if self.steps:
            lines.append(f"The approved plan: {self.title}\n{numbered(self.steps)}")
        if self.question[1]:
            answer = self.answer or "Nobody has answered it."
            lines.append(f"You asked the people: {self.question[1]}\n{answer}")
        return "\n".join(lines)


def only_looks(call: AnyParsedCall) -> bool:
    """Whether the call changes nothing but what the agent itself knows or says."""
    return call.tool.effect is Effect.READ_ONLY or call.tool.only_thinks


def refusal_in_plan_mode(plan: PlanState, call: AnyParsedCall, *, can_propose: bool = True) -> str:
    """Why plan mode forbids the call; empty if it does not. ``can_propose``: the agent has ``propose_plan``."""
    # guard: plan-mode-runs-only-reads
    if not plan.mode or only_looks(call):
        return ""
    return REFUSAL.format(tool=call.tool.name, **(PROPOSE if can_propose else TELL))


def read_steps(steps: Sequence[dict[str, str]]) -> tuple[PlanStep, ...]:
    """The steps of an event."""
    return tuple(PlanStep(step.get("text", ""), step.get("state", "open")) for step in steps)


def as_facts(steps: Sequence[PlanStep]) -> list[dict[str, str]]:
    """The steps as in an event."""
    return [{"text": step.text, "state": str(step.state)} for step in steps]


def numbered(steps: Sequence[PlanStep]) -> str:
    """The steps as lines, each with its number and how far it is."""
    marks = {"done": " (done)", "started": " (started)"}
    return "\n".join(
        f"{number}. {step.text}{marks.get(step.state, '')}" for number, step in enumerate(steps, 1)
    )
