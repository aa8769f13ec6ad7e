"""A model call beside the conversation, such as one for a summary: booked like every call, shown to nobody."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace

from paca import events
from paca.engine import limits
from paca.engine.before_call import limit_before_call
from paca.engine.budgets import Amounts
from paca.engine.llm import retrying
from paca.engine.llm.base import LLM, Reply, Request
from paca.engine.llm.model_errors import ModelError
from paca.engine.think import usage_fields
from paca.engine.turn import ActiveTurn, TurnServices


async def ask_beside(
    turn: ActiveTurn,
    services: TurnServices,
    request: Request,
    *,
    llm: LLM,
    purpose: str,
    at_most: Amounts | None = None,
) -> Reply:
    """The reply to a request that is no part of the conversation. ``purpose`` is booked with its usage.

    ``llm`` is the client of the request's model. ``at_most`` is what the call may take; None if it sends about what
    the next request of the conversation would.

    Each attempt stores its row before it starts, and adds its usage to the next commit, however it ends.
    A worker that dies meanwhile leaves the row, which the next worker marks as abandoned.

    Raises the last ``ModelError``, and ``TurnLimitReached`` if a limit forbids an attempt.
    """
    call = _SideCall(turn, services, request.model, purpose, at_most)
    try:
        await call.begin()
        async with retrying.stream_with_retries(
            llm, request, retries=turn.profile.retries, sleep=services.wait
        ) as stream:
            call.stream = stream
            async for step in stream:
                match step:
                    case retrying.AttemptFailed(attempt=attempt):
                        call.record_usage(attempt)
                    case retrying.Retrying():
                        await call.begin_retry(step)
                    case retrying.Answered(attempt=attempt, reply=reply):
                        call.record_usage(attempt)
                        return reply
    finally:
        call.close()
    raise ModelError  # the iteration above ends with an answer or an error


@dataclass(slots=True)
class _SideCall:
    """The current attempt, and whether its usage is recorded."""

    turn: ActiveTurn
    services: TurnServices
    model: str
    purpose: str
    at_most: Amounts | None = None
    stream: retrying.RetryingStream | None = None
    attempt: int = 1
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    usage_recorded: bool = True  # nothing is to be recorded before the row of the first attempt

    async def begin(self, *entries: events.Event) -> None:
        await self.services.log.commit()  # the usage of an attempt before this one counts
        reached = await limit_before_call(
            self.turn, self.services, model=self.model, at_most=self.at_most
        )
        # guard: engine-limits-of-a-side-call
        if reached:
            raise limits.TurnLimitReached(reached)
        row = self.turn.call_started(
            self.id, model=self.model, attempt=self.attempt, purpose=self.purpose
        )
        self.usage_recorded = False
        try:
            await self.services.log.commit(*entries, row)
        except limits.TurnLimitReached:
            self.usage_recorded = True  # the attempt has no row and sends no request
            raise
        self.services.traces.begin(self.id)

    async def begin_retry(self, step: retrying.Retrying) -> None:
        retried = events.ModelRetried(
            call_id=self.id,
            attempt=step.attempt,
            wait_seconds=round(step.wait_seconds, 1),
            cause=step.cause,
            code=step.code,
        )
        self.id, self.attempt = uuid.uuid4().hex, step.attempt + 1
        await self.begin(retried)

    def record_usage(self, attempt: retrying.Attempt) -> None:
        self.usage_recorded = True
        usage = events.UsageRecorded(
            call_id=self.id,
            model=self.model,
            attempt=attempt.number,
            outcome=attempt.outcome,
            seconds=round(attempt.seconds, 3),
            purpose=self.purpose,
            **usage_fields(
                attempt.usage,
                replace(self.turn.profile, model=self.model),
                unanswered=self.turn.next_call,
            ),
        )
        self.services.log.add(usage)
        self.services.traces.end(usage, attempt)

    def close(self) -> None:
        """Record an attempt that was cancelled, also if it had not sent its request yet."""
        if not self.usage_recorded:
            attempt = self.stream.attempt if self.stream else retrying.Attempt(self.attempt)
            self.record_usage(attempt)
