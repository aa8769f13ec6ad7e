"""Services for plan mode, and for the plans that agents propose."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from paca import events
from paca.agents.models import Agent
from paca.common.errors import Invalid
from paca.conversations import store
from paca.conversations.models import (
    Conversation,
    PersonRequest,
    RequestKind,
    RequestState,
    TriggerType,
)
from paca.conversations.services import helpers, person_requests, waits
from paca.conversations.services.inbox import lock
from paca.conversations.services.person_requests import RequestDecided
from paca.engine.approvals.person_tools import MAX_STEP
from paca.engine.approvals.plans import MAX_STEPS
from paca.projects.models import Member

DECISIONS = ("approve", "reject")
MAX_FEEDBACK_CHARACTERS = 2_000


class PlanDecided(RequestDecided):
    """This plan was decided before, or waits no longer."""

    code = "plan_decided"


@transaction.atomic
def decide(
    conversation: Conversation,
    *,
    decision: str,
    by: Member,
    call_id: str = "",
    feedback: str = "",
    steps: Sequence[str] | None = None,
) -> PersonRequest:
    """Decide on the plan that waits: the plan of the call ``call_id``, else the only one that waits.

    ``approve`` ends plan mode, and the agent works with all its tools; ``steps`` take the place of those of the
    plan. After ``reject`` it goes on planning. The model reads the ``feedback``. Raises ``Invalid`` for an unknown
    decision or steps that do not fit, ``NotFound``, and ``PlanDecided`` if somebody or something was faster.
    """
    current = lock(conversation)
    kind = RequestKind.PLAN
    plan = (
        person_requests.get(current, call_id, kind=kind)
        if call_id
        else person_requests.open_in(current, kind=kind)
    )
    _check(decision, feedback, steps)
    person_requests.require_open(plan, PlanDecided)
    proposed = plan.arguments["steps"]
    decided = [step.strip() for step in steps] if steps is not None else proposed
    event = events.PlanDecided(
        call_id=plan.call_id,
        decision=decision,
        title=plan.arguments["title"],
        steps=[{"text": step, "state": "open"} for step in decided],
        changed=decided != proposed,
        feedback=feedback.strip(),
        by=by.name,
        by_id=str(by.pk),
        seconds=waits.waited_seconds(plan),
    )
    waits.end(current, plan, event)
    if decision == "approve":
        _tell_helpers(current, on=False, by=by)
    return person_requests.get(current, plan.call_id, kind=kind)


def _check(decision: str, feedback: str, steps: Sequence[str] | None) -> None:
    """Raises ``Invalid`` if the decision is unknown, or its texts do not fit."""
    # guard: plan-known-decisions
    if decision not in DECISIONS:
        raise Invalid(fields={"decision": [f"Use one of {', '.join(DECISIONS)}."]})
    if len(feedback) > MAX_FEEDBACK_CHARACTERS:
        raise Invalid(fields={"feedback": [f"At most {MAX_FEEDBACK_CHARACTERS:,} characters."]})
    if steps is None:
        return
    if decision != "approve":
        raise Invalid(fields={"steps": ["Only an approved plan has changed steps."]})
    if not 1 <= len(steps) <= MAX_STEPS:
        raise Invalid(fields={"steps": [f"1 to {MAX_STEPS} steps."]})
    if not all(len(step.strip()) > 0 and len(step) <= MAX_STEP for step in steps):
        raise Invalid(fields={"steps": [f"Each step has 1 to {MAX_STEP} characters."]})


@transaction.atomic
def set_mode(conversation: Conversation, *, on: bool, by: Member) -> None:
    """Switch plan mode on or off; nothing happens if it is so already.

    A running turn obeys from its next call on. A plan that waits is no longer decided once it is off.
    """
    current = lock(conversation)
    if bool(current.plan_mode) == on:
        return
    store.append(current.pk, events.FlagsChanged(plan=on, by=by.name))
    waiting = PersonRequest.objects.filter(
        conversation=current, state=RequestState.OPEN, kind=RequestKind.PLAN
    )
    if not on and waiting.exists():
        waits.supersede(current, cause="plan_mode", by=by.name)
    _tell_helpers(current, on=on, by=by)


def _tell_helpers(current: Conversation, *, on: bool, by: Member) -> None:
    """Let plan mode hold for the helpers and teammates as for their locked conversation: nobody switches theirs alone."""
    # guard: plan-mode-reaches-the-helpers
    for child in helpers.living(current):
        if bool(child.plan_mode) != on:
            store.append(child.pk, events.FlagsChanged(plan=on, by=by.name))


def begin(
    conversation: Conversation, agent: Agent, *, on: bool | None = None, by: str = ""
) -> None:
    """Switch plan mode on in a new conversation, if ``on`` or the setting of the agent says so.

    In the caller's transaction, before the first message.
    """
    wanted = agent.plan_mode if on is None else on
    # A description of a task is text alone, and its agent asks nothing.
    if wanted and conversation.trigger_type != TriggerType.DESCRIPTION_WRITE:
        store.append(conversation.pk, events.FlagsChanged(plan=True, by=by if on else ""))
        conversation.refresh_from_db()
