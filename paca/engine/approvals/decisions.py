"""What people have decided on the tool calls of a conversation, and answered: a fold over its log."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from paca import events
from paca.events import Event


class DecisionKind(StrEnum):
    """How the wait for a person has ended. Anything else is no approval."""

    APPROVE = "approve"
    APPROVE_REST = "approve_rest"
    DENY = "deny"
    ANSWERED = "answered"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


MAX_DENIALS = 2  # of the same call; then it is refused and nobody is asked again
APPROVES = (DecisionKind.APPROVE, DecisionKind.APPROVE_REST)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one call, or the answer to it, which is the ``reason``.

    ``arguments`` replace those of the model, if a person has changed them. ``changed``: a person has changed the
    plan.
    """

    kind: str
    by: str = ""
    reason: str = ""
    arguments: dict[str, Any] | None = None
    changed: bool = False

    @property
    def approves(self) -> bool:
        # guard: approval-unknown-decision-denies
        return self.kind in APPROVES

    @property
    def refusal(self) -> str:
        """What the model reads in place of a result."""
        reason = f" Reason: {self.reason}" if self.reason else ""
        match self.kind:
            case DecisionKind.EXPIRED:
                return "Not run: nobody approved it in time. Go on without it, or say what you need and why."
            case DecisionKind.SUPERSEDED if self.reason == "message":
                return "Not run: a message came first. Read it before you decide what to do."
            case DecisionKind.SUPERSEDED if self.reason == "plan_mode":
                return (
                    f"Not run: {self.by or 'a person'} switched plan mode off while your plan waited."
                    " Call it again if it is still needed."
                )
            case DecisionKind.SUPERSEDED:
                return f"Not run. Stopped by {self.by or 'a person'}."
        return (
            f"Not run: {self.by or 'a person'} denied it.{reason}"
            " Do not try to reach the same in another way."
        )


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions on the calls of the running turn, and whether the rest of the conversation is approved.

    ``rest_by`` is the name of the person who approved the rest, until somebody revokes it. ``waited_seconds``
    is how long the turn has waited for people. ``superseded`` is the decision that ended a wait of the newest
    reply because a person came first, if there is one. ``asked`` is the id of the call that was asked for last, with
    its tool and arguments as text; ``denied`` are those of the calls that people have denied since the last message.
    ``beside`` is what the newest reply has asked people, until the next reply: question or plan. ``began`` are the
    calls of the turn that have started, and ``held`` those of them that started after a revocation, without a decision
    of their own.
    """

    calls: tuple[tuple[str, Decision], ...] = ()
    asked: tuple[str, str] = ("", "")
    denied: tuple[str, ...] = ()
    rest_by: str = ""
    waited_seconds: float = 0.0
    superseded: Decision | None = None
    beside: str = ""
    revoked: bool = False
    began: tuple[str, ...] = ()
    held: tuple[str, ...] = ()

    def of(self, call_id: str) -> Decision | None:
        """The decision on the call, if there is one."""
        return next((decision for known, decision in self.calls if known == call_id), None)

    def refuses(self, request: events.ApprovalRequested) -> bool:
        """Whether people have denied the same call often enough."""
        # guard: approval-not-asked-a-third-time
        return self.denied.count(_text_of(request)) >= MAX_DENIALS

    def advance(self, event: Event) -> Decisions:
        """The decisions after one more event."""
        match event:
            case events.ApprovalRequested():
                return replace(self, asked=(event.call_id, _text_of(event)))
            case events.MessageReceived():
                return replace(self, denied=())
            case events.TurnStarted():
                return Decisions(rest_by=self.rest_by)
            case events.ConversationForked():
                # guard: approval-of-the-rest-is-not-forked
                return Decisions()
            case events.UsageRecorded() if self.superseded is not None or self.beside:
                # guard: approval-message-ends-one-reply
                return replace(self, superseded=None, beside="")
            case events.QuestionAsked() | events.PlanProposed():
                is_plan = isinstance(event, events.PlanProposed)
                return replace(self, beside="plan" if is_plan else "question")
            case events.ApprovalRevoked() | events.ToolStarted():
                return self._hold(event)
        return self._end_wait(event)

    def _hold(self, event: events.ApprovalRevoked | events.ToolStarted) -> Decisions:
        """Keep the calls that start after a revocation.

        One may have been judged before it. Its start is stored then, and it must not run, by a later worker neither.
        """
        if isinstance(event, events.ApprovalRevoked):
            return replace(self, rest_by="", revoked=True)
        call_id = event.call_id
        if call_id in self.began:  # another worker carries it on
            return self
        after = replace(self, began=(*self.began, call_id))
        if self.revoked and not self.rest_by and self.of(call_id) is None:
            return replace(after, held=(*self.held, call_id))
        return after

    def _end_wait(self, event: Event) -> Decisions:
        match event:
            case events.ApprovalGiven():
                given = Decision(event.decision, event.by, event.reason, event.arguments)
                after = self._decide(event.call_id, given, event.seconds)
                if given.kind == DecisionKind.DENY and self.asked[0] == event.call_id:
                    after = replace(after, denied=(*self.denied, self.asked[1]))
                is_for_all = event.decision == DecisionKind.APPROVE_REST
                return replace(after, rest_by=event.by or "a person") if is_for_all else after
            case events.QuestionAnswered():
                answer = Decision(DecisionKind.ANSWERED, event.by, event.text)
                return self._decide(event.call_id, answer, event.seconds)
            case events.PlanDecided():
                decided = Decision(event.decision, event.by, event.feedback, changed=event.changed)
                return self._decide(event.call_id, decided, event.seconds)
            case events.ApprovalExpired():
                expired = Decision(DecisionKind.EXPIRED)
                return self._decide(event.call_id, expired, event.seconds)
            case events.SubagentStarted() | events.TeammateChanged() if event.rest_approved_by:
                # guard: helper-inherits-the-approval-of-the-rest
                return replace(self, rest_by=event.rest_approved_by)
            case events.ApprovalSuperseded():
                superseded = Decision(DecisionKind.SUPERSEDED, event.by, event.cause)
                after = self._decide(event.call_id, superseded, event.seconds)
                return replace(after, superseded=superseded)
        return self

    def _decide(self, call_id: str, decision: Decision, seconds: float) -> Decisions:
        """Keep the first decision on a call."""
        # guard: approval-first-decision-counts
        if self.of(call_id) is not None:
            return self
        calls = (*self.calls, (call_id, decision))
        return replace(self, calls=calls, waited_seconds=self.waited_seconds + seconds)


def _text_of(request: events.ApprovalRequested) -> str:
    """The tool and the arguments, the same for equal calls."""
    return json.dumps([request.tool, request.arguments], sort_keys=True)
