"""One question to the model: streamed to viewers, tried again, booked, and kept for the log."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, field

from paca import events
from paca.common.errors import PacaError
from paca.engine import limits
from paca.engine.llm import retrying
from paca.engine.llm.base import (
    ModelError,
    Reply,
    Request,
    StopReason,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolUse,
)
from paca.engine.llm.prices import cost_usd
from paca.engine.ports import ModelCallStarted, World
from paca.engine.run import Run
from paca.engine.tools.base import Effect

MOST_CONTINUATIONS = 3


@dataclass(frozen=True, slots=True)
class Thought:
    """The model's reply. ``goes_on``: it was cut at the output limit and is to be continued."""

    reply: Reply
    goes_on: bool


async def think(run: Run, world: World, *, may_call: bool = True) -> Thought:
    """Ask the model, and note its words and calls for the next commit.

    Raises the last ``ModelError`` when retrying did not help. However it ends, each attempt is
    noted with what it used.
    """
    call = await _begin(run, world)
    request = Request(
        model=run.profile.model,
        system=run.profile.system,
        messages=world.log.history.messages(),
        tools=run.toolbox.specs(),
        max_tokens=run.profile.max_tokens,
        parameters=run.profile.parameters,
        may_call=may_call,
    )
    async with retrying.ask(world.llm, request, retries=run.profile.retries) as asking:
        try:
            async for step in asking:
                match step:
                    case retrying.Streamed(delta=delta):
                        world.log.show(call.piece(delta))
                    case retrying.AttemptFailed(attempt=attempt, error=error):
                        call.book(world, run, attempt)
                        call.discard(world, attempt, error)
                    case retrying.Retrying():
                        call = await call.again(world, step)
                    case retrying.Answered(attempt=attempt, reply=reply):
                        call.book(world, run, attempt)
                        return call.record(world, run, reply, may_call=may_call)
        except asyncio.CancelledError:
            if not call.booked:
                call.book(world, run, asking.attempt)
                call.discard(world, asking.attempt, None)
            raise
    raise ModelError  # the iteration above ends with an answer or an error


async def _begin(run: Run, world: World) -> _Call:
    """Start the call's row, with the results that wait to be stored and the hint if it is due."""
    call = _Call(run.profile.model)
    near = limits.hint(world.log.tally, run.profile.limits)
    started = ModelCallStarted(call_id=call.id, model=call.model)
    await world.log.commit(*([near] if near else []), started)
    call.seen_seq = world.log.history.seq
    return call


@dataclass(slots=True)
class _Call:
    """One attempt: its id, and how much of it has been streamed."""

    model: str
    attempt: int = 1
    seen_seq: int = 0
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    text_length: int = 0
    thought_length: int = 0
    booked: bool = False

    def piece(self, delta: TextDelta | ThinkingDelta) -> events.Event:
        if isinstance(delta, TextDelta):
            offset, self.text_length = self.text_length, self.text_length + len(delta.text)
            return events.TextStreamed(call_id=self.id, offset=offset, text=delta.text)
        offset, self.thought_length = self.thought_length, self.thought_length + len(delta.text)
        return events.ThoughtStreamed(call_id=self.id, offset=offset, text=delta.text)

    def book(self, world: World, run: Run, attempt: retrying.Attempt) -> None:
        self.booked = True
        usage = attempt.usage
        demo = run.profile.demo
        world.log.note(
            events.UsageRecorded(
                call_id=self.id,
                model=self.model,
                attempt=attempt.number,
                outcome=attempt.outcome,
                input=usage.input,
                output=usage.output,
                cache_read=usage.cache_read,
                cache_write=usage.cache_write,
                cost_usd=0.0
                if demo
                else cost_usd(self.model, usage, base_url=run.profile.base_url),
                seen_seq=self.seen_seq,
                seconds=round(attempt.seconds, 3),
            )
        )

    def discard(self, world: World, attempt: retrying.Attempt, error: ModelError | None) -> None:
        """Streamed text that is no message: people may read what was there, the model never does."""
        if attempt.shown:
            cause = error.code if error else "cancelled"
            text = "" if error else attempt.text
            world.log.note(events.MessageDiscarded(call_id=self.id, cause=cause, text=text))

    async def again(self, world: World, step: retrying.Retrying) -> _Call:
        """Let people see that and why it is tried again, before the wait."""
        following = _Call(self.model, step.attempt + 1, self.seen_seq)
        await world.log.commit(
            events.ModelRetried(
                call_id=self.id,
                attempt=step.attempt,
                wait_seconds=round(step.wait_seconds, 1),
                cause=step.cause,
                code=step.code,
            ),
            ModelCallStarted(call_id=following.id, model=self.model, attempt=following.attempt),
        )
        return following

    def record(self, world: World, run: Run, reply: Reply, *, may_call: bool) -> Thought:
        """Note the reply's thoughts, words and calls."""
        for block in reply.blocks:
            if isinstance(block, Thinking):
                world.log.note(self._thought(block))
        cut = reply.stop is StopReason.OUTPUT_LIMIT
        goes_on = cut and world.log.tally.continuations < MOST_CONTINUATIONS
        if reply.text.strip() or goes_on:
            world.log.note(self._spoken(reply.text, run, truncated=goes_on))
        for use in reply.calls if may_call else ():
            world.log.note(self._called(use, run))
        return Thought(reply, goes_on)

    def _thought(self, block: Thinking) -> events.ThoughtRecorded:
        return events.ThoughtRecorded(
            call_id=self.id, text=block.text, signature=block.signature, redacted=block.redacted
        )

    def _spoken(self, text: str, run: Run, *, truncated: bool) -> events.MessageSpoken:
        return events.MessageSpoken(
            call_id=self.id,
            text=text,
            model=self.model,
            demo=run.profile.demo,
            truncated=truncated,
        )

    def _called(self, use: ToolUse, run: Run) -> events.ToolCalled:
        effect, subject = describe(use, run)
        return events.ToolCalled(
            call_id=use.call_id,
            tool=use.tool,
            arguments=use.arguments,
            effect=effect,
            subject=subject,
            model_call_id=self.id,
        )


def describe(use: ToolUse, run: Run) -> tuple[str, str]:
    """The call's effect and its subject for the card; an impossible call has neither."""
    try:
        tool, arguments = run.toolbox.parse(use.tool, use.arguments)
    except PacaError:
        return Effect.OPAQUE.value, ""
    return tool.effect.value, tool.subject(arguments)
