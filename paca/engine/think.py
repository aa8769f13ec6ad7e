"""One question to the model: streamed to viewers, tried again, booked, and kept for the log."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, field
from typing import Any

from paca import events
from paca.common.errors import PacaError
from paca.engine import limits
from paca.engine.llm import retrying
from paca.engine.llm.base import (
    ModelError,
    Reply,
    Request,
    StopReason,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolUse,
    Usage,
)
from paca.engine.llm.prices import cost_usd
from paca.engine.ports import ModelCallStarted, RunServices
from paca.engine.run import AgentProfile, Run
from paca.engine.tools.base import Effect

logger = logging.getLogger(__name__)

MOST_CONTINUATIONS = 3


@dataclass(frozen=True, slots=True)
class Thought:
    """The model's reply. ``goes_on``: it was cut at the output limit and is to be continued."""

    reply: Reply
    goes_on: bool


async def think(run: Run, services: RunServices, *, may_call: bool = True) -> Thought:
    """Ask the model, and note its words and calls for the next commit.

    Raises the last ``ModelError`` when retrying did not help. However it ends, each attempt is
    noted with what it used.
    """
    call = _Call(services, run)
    try:
        await call.begin()
        request = _request(run, services, may_call=may_call)
        async with retrying.ask(services.llm, request, retries=run.profile.retries) as asking:
            call.asking = asking
            async for step in asking:
                match step:
                    case retrying.Streamed(delta=delta):
                        services.log.show_live(call.piece(delta))
                    case retrying.AttemptFailed(attempt=attempt, error=error):
                        call.book(attempt)
                        call.discard(attempt, error)
                    case retrying.Retrying():
                        await call.again(step)
                    case retrying.Answered(attempt=attempt, reply=reply):
                        call.book(attempt)
                        return call.record(reply, may_call=may_call)
    finally:
        call.close()
    raise ModelError  # the iteration above ends with an answer or an error


def _request(run: Run, services: RunServices, *, may_call: bool) -> Request:
    return Request(
        model=run.profile.model,
        system=run.profile.system,
        messages=services.log.history.messages(),
        tools=run.toolbox.specs(),
        max_tokens=run.profile.max_tokens,
        parameters=run.profile.parameters,
        may_call=may_call,
    )


@dataclass(slots=True)
class _Call:
    """The attempt under way: its id, how much of it has been streamed, whether it is booked."""

    services: RunServices
    run: Run
    asking: retrying.Asking | None = None
    attempt: int = 1
    seen_seq: int = 0
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    text_length: int = 0
    thought_length: int = 0
    booked: bool = False

    async def begin(self) -> None:
        """Store its row, with the results that wait to be stored and the hint if it is due."""
        near = limits.hint(self.services.log.progress, self.run.profile.limits)
        await self.services.log.commit(*([near] if near else []), self._row())
        self.seen_seq = self.services.log.history.seq

    def _row(self) -> ModelCallStarted:
        return ModelCallStarted(call_id=self.id, model=self.run.profile.model, attempt=self.attempt)

    def piece(self, delta: TextDelta | ThinkingDelta) -> events.Event:
        if isinstance(delta, TextDelta):
            offset, self.text_length = self.text_length, self.text_length + len(delta.text)
            return events.TextStreamed(call_id=self.id, offset=offset, text=delta.text)
        offset, self.thought_length = self.thought_length, self.thought_length + len(delta.text)
        return events.ThoughtStreamed(call_id=self.id, offset=offset, text=delta.text)

    def book(self, attempt: retrying.Attempt) -> None:
        """Note what the attempt used, however it ended."""
        self.booked = True
        self.services.log.add(
            events.UsageRecorded(
                call_id=self.id,
                model=self.run.profile.model,
                attempt=attempt.number,
                outcome=attempt.outcome,
                seen_seq=self.seen_seq,
                seconds=round(attempt.seconds, 3),
                **used(attempt.usage, self.run.profile),
            )
        )

    def discard(self, attempt: retrying.Attempt, error: ModelError | None) -> None:
        """Streamed text that is no message: people may read what was there, the model never does."""
        if attempt.shown:
            cause = error.code if error else "cancelled"
            text = "" if error else attempt.text
            self.services.log.add(events.MessageDiscarded(call_id=self.id, cause=cause, text=text))

    def close(self) -> None:
        """Book the attempt that something ended from outside, even one that had not begun to ask."""
        if not self.booked:
            attempt = self.asking.attempt if self.asking else retrying.Attempt(self.attempt)
            self.book(attempt)
            self.discard(attempt, None)

    async def again(self, step: retrying.Retrying) -> None:
        """Let people see that and why it is tried again, before the wait."""
        facts = {"call": self.id, "attempt": step.attempt, "cause": step.cause}
        logger.warning("a model call is tried again", extra=facts)
        retried = events.ModelRetried(
            call_id=self.id,
            attempt=step.attempt,
            wait_seconds=round(step.wait_seconds, 1),
            cause=step.cause,
            code=step.code,
        )
        self.id, self.attempt = uuid.uuid4().hex, step.attempt + 1
        self.text_length = self.thought_length = 0
        self.booked = False
        await self.services.log.commit(retried, self._row())

    def record(self, reply: Reply, *, may_call: bool) -> Thought:
        """Note the reply's blocks in the order they were said: a provider may insist on it."""
        cut = reply.stop is StopReason.OUTPUT_LIMIT
        goes_on = cut and self.services.log.progress.continuations < MOST_CONTINUATIONS
        spoken = False
        for block in reply.blocks:
            match block:
                case Thinking():
                    self.services.log.add(self._thought(block))
                case Text() if reply.text.strip() and not spoken:
                    spoken = True  # its live text is one, whatever blocks the provider made of it
                    self.services.log.add(self._spoken(reply.text, truncated=goes_on))
                case ToolUse() if may_call:
                    self.services.log.add(self._called(block))
        if goes_on and not spoken:
            self.services.log.add(self._spoken("", truncated=True))
        return Thought(reply, goes_on)

    def _thought(self, block: Thinking) -> events.ThoughtRecorded:
        return events.ThoughtRecorded(
            call_id=self.id, text=block.text, signature=block.signature, redacted=block.redacted
        )

    def _spoken(self, text: str, *, truncated: bool) -> events.MessageSpoken:
        return events.MessageSpoken(
            call_id=self.id,
            text=text,
            model=self.run.profile.model,
            demo=self.run.profile.demo,
            truncated=truncated,
        )

    def _called(self, use: ToolUse) -> events.ToolCalled:
        effect, subject = describe(use, self.run)
        return events.ToolCalled(
            call_id=use.call_id,
            tool=use.tool,
            arguments=use.arguments,
            effect=effect,
            subject=subject,
            model_call_id=self.id,
        )


def used(usage: Usage, profile: AgentProfile) -> dict[str, Any]:
    """Tokens and cost, as they are recorded; null is what nobody told."""
    cost = 0.0 if profile.demo else cost_usd(profile.model, usage, base_url=profile.base_url)
    if usage.estimated:
        unknown = dict.fromkeys(("input", "output", "cache_read", "cache_write", "cost_usd"))
        tokens = usage.input + usage.output
        return {**unknown, "estimated_tokens": tokens, "estimated_usd": cost or 0.0}
    return {
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "cost_usd": cost,
    }


def describe(use: ToolUse, run: Run) -> tuple[str, str]:
    """The call's effect and its subject for the card; an impossible call has neither."""
    try:
        tool, arguments = run.toolbox.parse(use.tool, use.arguments)
    except PacaError:
        return Effect.OPAQUE.value, ""
    return tool.effect.value, tool.subject(arguments)
