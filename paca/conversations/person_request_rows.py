"""The rows of requests to people that follow from events of the log, in the transaction that stores them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from paca import events
from paca.common.text import to_storable, to_storable_json
from paca.conversations.models import PersonRequest, RequestKind, RequestState
from paca.conversations.models.statuses import IllegalStatusMove
from paca.engine.approvals.person_tools import ASK_TOOL, PLAN_TOOL, PersonRequested, subject_of

Ended: TypeAlias = (
    events.ApprovalGiven
    | events.QuestionAnswered
    | events.PlanDecided
    | events.ApprovalExpired
    | events.ApprovalSuperseded
)
MAX_SUBJECT_CHARACTERS = 500


def create(event: PersonRequested, conversation_id: UUID, *, turn: int, at: datetime) -> None:
    """Store the request of a call. A second one for the call raises ``IntegrityError``."""
    facts = _facts(event)
    facts["arguments"] = _storable(facts["arguments"])
    PersonRequest.objects.create(
        conversation_id=conversation_id,
        call_id=event.call_id,
        turn=turn,
        subject=to_storable(subject_of(event))[:MAX_SUBJECT_CHARACTERS],
        deadline=datetime.fromisoformat(event.deadline),
        **facts,
    )
    PersonRequest.objects.filter(call_id=event.call_id).update(created_at=at, updated_at=at)


def _facts(event: PersonRequested) -> dict[str, Any]:
    """The columns that differ by the kind of request."""
    match event:
        case events.QuestionAsked():
            return {
                "kind": RequestKind.QUESTION,
                "tool": ASK_TOOL,
                "arguments": {"question": event.question, "choices": event.choices},
            }
        case events.PlanProposed():
            return {
                "kind": RequestKind.PLAN,
                "tool": PLAN_TOOL,
                "arguments": {"title": event.title, "steps": event.steps},
            }
    return {
        "kind": RequestKind.APPROVAL,
        "tool": event.tool[:100],
        "arguments": event.arguments,
        "rule": event.rule,
        "why": event.why,
        "effect": event.effect,
        "undo": event.undo,
        "diff": to_storable(event.diff),
    }


def end(event: Ended, *, at: datetime) -> None:
    """Store what ended a request. Raises ``IllegalStatusMove`` if it had ended before."""
    state, facts = _end(event)
    facts |= {"decided_at": at, "updated_at": at}
    if not PersonRequest.objects.filter(call_id=event.call_id).move(state, **facts):
        raise IllegalStatusMove("The call was decided before.")


def _end(event: Ended) -> tuple[RequestState, dict[str, Any]]:
    """The state that the event gives, and other columns."""
    match event:
        case events.ApprovalExpired():
            return RequestState.EXPIRED, {}
        case events.ApprovalSuperseded(cause=cause):
            return RequestState.SUPERSEDED, {"reason": cause}
        case events.QuestionAnswered():
            facts = {"reason": to_storable(event.text), "decided_by_id": event.by_id or None}
            return RequestState.ANSWERED, facts
        case events.PlanDecided():
            facts = {"reason": to_storable(event.feedback), "decided_by_id": event.by_id or None}
            if event.changed:
                steps = [step["text"] for step in event.steps]
                facts["changed_arguments"] = _storable({"title": event.title, "steps": steps})
            return _state(event.decision == "approve"), facts
    facts = {"reason": to_storable(event.reason), "decided_by_id": event.by_id or None}
    if event.arguments is not None:
        facts["changed_arguments"] = _storable(event.arguments)
    return _state(event.decision != "deny"), facts


def _state(approved: bool) -> RequestState:
    return RequestState.APPROVED if approved else RequestState.DENIED


def _storable(arguments: dict[str, Any]) -> Any:
    return json.loads(to_storable_json(arguments))
