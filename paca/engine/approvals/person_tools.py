"""The tools by which the agent asks people, proposes a plan, and ticks its steps."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from paca import events
from paca.engine.approvals.decisions import Decision, DecisionKind
from paca.engine.approvals.plans import MAX_STEPS, PlanState, StepState, as_facts, numbered
from paca.engine.helpers import requests
from paca.engine.helpers.requests import HelpersRequested
from paca.engine.tools.base import (
    ArgumentsT,
    Effect,
    EncodableText,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
    refuse_nul,
)
from paca.engine.tools.formatting import to_one_line

ASK_TOOL, PLAN_TOOL, STEP_TOOL = "ask_person", "propose_plan", "update_plan"
MAX_QUESTION, MAX_LABEL, MAX_DESCRIPTION = 2_000, 100, 300  # characters
MAX_TITLE, MAX_STEP = 200, 300
CHOICES = (2, 6)

PersonRequested: TypeAlias = events.ApprovalRequested | events.QuestionAsked | events.PlanProposed
# A shown text without spaces around it.
Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(refuse_nul)
]


def reason_of(request: PersonRequested | HelpersRequested) -> str:
    """The reason of the status ``waiting`` for this request: helpers, question, or approval, which a plan waits for too."""
    if isinstance(request, HelpersRequested):
        return requests.REASON
    return "question" if isinstance(request, events.QuestionAsked) else "approval"


def subject_of(request: PersonRequested) -> str:
    """What the request is about, in one line."""
    match request:
        case events.QuestionAsked(question=text) | events.PlanProposed(title=text):
            return to_one_line(text)
    return request.subject


@dataclass(frozen=True, slots=True)
class Settlement:
    """What becomes of a call that the log answers: its ``output``, or a ``request``."""

    output: ToolOutput | None = None
    request: PersonRequested | HelpersRequested | None = None


class ConversationTool(Tool[ArgumentsT]):
    """A tool whose calls the log of the conversation answers. They are never started."""

    effect = Effect.KEYED  # by the id of the call, which waits for people once at most
    timeout_seconds = 1
    uses_workspace = False
    only_thinks = True

    @abstractmethod
    def settle(
        self, call_id: str, arguments: ArgumentsT, decision: Decision | None, plan: PlanState
    ) -> Settlement:
        """What becomes of the call, after the ``decision`` of a person if there is one."""

    async def act(self, arguments: ArgumentsT, context: ToolContext) -> ToolOutput:
        """Refuse: the loop settles the call."""
        return ToolOutput("This call has no effect outside of a conversation.", failed=True)


class Choice(ToolArguments):
    """One answer that the agent offers."""

    label: Text = Field(max_length=MAX_LABEL)
    description: EncodableText = Field(default="", max_length=MAX_DESCRIPTION)


class AskPerson(ConversationTool["AskPerson.Arguments"]):
    """Ask the people of the project a question, and wait for the answer.

    Use it when you cannot go on well without a decision or a fact that only people have. Offer 2 to 6 choices
    where you can; people may always answer with other words. Do not ask what you can find out, and no more
    than one question at a time. Call it alone: calls after it in the same reply do not run, unless they read.
    """

    name = ASK_TOOL

    class Arguments(ToolArguments):
        question: Text = Field(
            max_length=MAX_QUESTION,
            description="The question, with what one must know to answer it.",
        )
        choices: list[Choice] = Field(
            default_factory=list,
            description="2 to 6 choices, each with a label and, if it needs one, a description.",
        )

        @field_validator("choices")
        @classmethod
        def _bounded(cls, choices: list[Choice]) -> list[Choice]:
            least, most = CHOICES
            labels = {choice.label.casefold() for choice in choices}
            if choices and not least <= len(choices) <= most:
                raise ValueError(f"{least} to {most} choices, or none for a free answer")
            if len(labels) < len(choices):
                raise ValueError("choices with different labels")
            return choices

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.question)

    def settle(
        self, call_id: str, arguments: Arguments, decision: Decision | None, plan: PlanState
    ) -> Settlement:
        if decision is None:
            choices = [choice.model_dump() for choice in arguments.choices]
            return Settlement(
                request=events.QuestionAsked(
                    call_id=call_id, question=arguments.question, choices=choices
                )
            )
        match decision.kind:
            case DecisionKind.ANSWERED:
                return Settlement(
                    ToolOutput(f"{decision.by or 'A person'} answered: {decision.reason}")
                )
            case DecisionKind.EXPIRED:
                text = "Nobody answered in time. Go on with your best judgement, and say what you assumed."
            case DecisionKind.SUPERSEDED if decision.reason == "message":
                text = "Not answered: a message came first. Read it before you decide what to do."
            case _:
                text = f"Not answered. Stopped by {decision.by or 'a person'}."
        return Settlement(ToolOutput(text, failed=True, cause="denied"))


class ProposePlan(ConversationTool["ProposePlan.Arguments"]):
    """Propose a plan to the people of the project, and wait until one of them approves or rejects it.

    In plan mode this is the only way to more than reading. Look first, so that the steps are certain. After an
    approval do the steps in their order, and mark each with update_plan.
    """

    name = PLAN_TOOL

    class Arguments(ToolArguments):
        title: Text = Field(
            max_length=MAX_TITLE, description="What the plan is for, in a few words."
        )
        steps: list[Annotated[Text, Field(max_length=MAX_STEP)]] = Field(
            description=f"1 to {MAX_STEPS} steps, each a short sentence."
        )

        @field_validator("steps")
        @classmethod
        def _bounded(cls, steps: list[str]) -> list[str]:
            if not 1 <= len(steps) <= MAX_STEPS:
                raise ValueError(f"a list of 1 to {MAX_STEPS} steps")
            return steps

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.title)

    def settle(
        self, call_id: str, arguments: Arguments, decision: Decision | None, plan: PlanState
    ) -> Settlement:
        if decision is None:
            return Settlement(
                request=events.PlanProposed(
                    call_id=call_id, title=arguments.title, steps=arguments.steps
                )
            )
        by = decision.by or "A person"
        # guard: plan-unknown-decision-runs-nothing
        if decision.approves:
            changed = " with changes" if decision.changed else ""
            said = f" {by} says: {decision.reason}" if decision.reason else ""
            text = f"{by} approved the plan{changed}. All your tools run now.{said} The steps:\n{numbered(plan.steps)}"
            return Settlement(ToolOutput(text))
        return Settlement(ToolOutput(_not_approved(decision, by), failed=True, cause="denied"))


def _not_approved(decision: Decision, by: str) -> str:
    match decision.kind:
        case DecisionKind.EXPIRED:
            return "Nobody decided on the plan in time. Answer with the plan and what you found, so that people can read it."
        case DecisionKind.SUPERSEDED if decision.reason == "message":
            return "Not decided: a message came first. Read it before you decide what to do."
        case DecisionKind.SUPERSEDED if decision.reason == "plan_mode":
            return f"Not decided: {by} switched plan mode off. All your tools run now; do what was asked."
        case DecisionKind.SUPERSEDED:
            return f"Not decided. Stopped by {by}."
    feedback = f" Feedback: {decision.reason}" if decision.reason else ""
    return f"{by} rejected the plan.{feedback} Change the plan, and propose it again."


class UpdatePlan(ConversationTool["UpdatePlan.Arguments"]):
    """Mark a step of the approved plan as started or done, so that people see how far you are."""

    name = STEP_TOOL

    class Arguments(ToolArguments):
        step: int = Field(ge=1, le=MAX_STEPS, description="The number of the step, from 1.")
        state: Literal["started", "done", "open"] = Field(
            description="started when you begin the step, done when it is done."
        )

    def subject(self, arguments: Arguments) -> str:
        return f"Step {arguments.step}: {arguments.state}"

    def settle(
        self, call_id: str, arguments: Arguments, decision: Decision | None, plan: PlanState
    ) -> Settlement:
        if not plan.steps:
            text = "There is no approved plan. Propose one with propose_plan, or work without."
            return Settlement(ToolOutput(text, failed=True, cause="refused"))
        if arguments.step > len(plan.steps):
            text = f"The plan has {len(plan.steps)} steps:\n{numbered(plan.steps)}"
            return Settlement(ToolOutput(text, failed=True, cause="refused"))
        after = plan.with_step(arguments.step, StepState(arguments.state))
        changed = events.PlanChanged(
            call_id=call_id, title=after.title, steps=as_facts(after.steps)
        )
        text = f"{after.done} of {len(after.steps)} steps are done.\n{numbered(after.steps)}"
        return Settlement(ToolOutput(text, events=(changed,)))


def people_tools() -> tuple[
    Tool[AskPerson.Arguments] | Tool[ProposePlan.Arguments] | Tool[UpdatePlan.Arguments], ...
]:
    """New instances of the tools that the log answers."""
    return (AskPerson(), ProposePlan(), UpdatePlan())
