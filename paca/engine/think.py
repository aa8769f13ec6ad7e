"""One model call with its retries: streams to viewers, records usage, adds the reply to the log."""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

from paca import events
from paca.common.best_effort import tolerated
from paca.common.errors import PacaError
from paca.engine import limits
from paca.engine.before_call import limit_before_call, most_answered
from paca.engine.budgets import NOTHING, Amounts
from paca.engine.context.history import HISTORY_FORM, History
from paca.engine.llm import retrying
from paca.engine.llm.base import (
    HistoryForm,
    Notice,
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
from paca.engine.llm.model_errors import ModelError
from paca.engine.llm.prices import cost_usd
from paca.engine.model_choice import require_choice
from paca.engine.request_size import request_size_of, window_of
from paca.engine.tools.base import Effect
from paca.engine.turn import (
    ActiveTurn,
    AgentProfile,
    TurnServices,
)

logger = logging.getLogger(__name__)

MAX_CONTINUATIONS = 3
# A server that has been improved since then gets the usual form again.
AS_TEXT_SECONDS = 24 * 3600.0
AS_TEXT = (
    "The model's server refused the history of this conversation, so it gets it as plain text: without reasoning,"
    " and with tool calls in words. In a day it is asked in the usual form again."
)
AS_USUAL = (
    "The model's server refused the history as plain text, so it gets it in the usual form again."
)
ONLY_REASONING = "The model wrote no answer after its reasoning, also when it was asked for one. This is its reasoning."


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """A reply that was added to the log.

    ``continues``: the reply was cut at the output limit, and the model is asked to continue it.
    """

    reply: Reply
    continues: bool


async def think(
    turn: ActiveTurn, services: TurnServices, *, may_call: bool = True
) -> RecordedReply:
    """Ask the model and add its text and tool calls to the next commit.

    Each attempt adds its usage, however it ends, also if this task is cancelled.

    Raises the last ``ModelError`` if no attempt succeeded, ``TurnLimitReached`` if a limit forbids another attempt,
    and ``ModelChoiceChanged`` if a message that came meanwhile asks for another model.
    """
    call = _ModelCall(services, turn, may_call=may_call)
    turn.shown = False
    try:
        await call.begin(warns=may_call)
        request = _request(turn, call.history, may_call=may_call)
        async with retrying.stream_with_retries(
            turn.llm or services.llm,
            request,
            retries=retries_of(turn, services),
            sleep=services.wait,
        ) as stream:
            call.stream = stream
            async for step in stream:
                match step:
                    case retrying.Streamed(delta=delta):
                        services.log.show_live(call.live_event(delta))
                    case HistoryForm():
                        call.record_form(step)
                    case retrying.AttemptFailed(attempt=attempt, error=error):
                        call.record_usage(attempt)
                        call.record_discarded(attempt, error)
                    case retrying.Retrying():
                        await call.begin_retry(step)
                        # The commit has claimed the messages that came meanwhile for this turn.
                        # guard: engine-retry-reads-messages
                        stream.request = _request(turn, call.history, may_call=may_call)
                    case retrying.Answered(attempt=attempt, reply=reply):
                        call.record_usage(attempt)
                        return call.record_reply(reply, may_call=may_call)
    finally:
        call.close()
    raise ModelError  # the iteration above ends with an answer or an error


def retries_of(turn: ActiveTurn, services: TurnServices) -> int:
    """How often the model is asked again. One that has just failed is asked once if a fallback can go on."""
    is_first = turn.profile.fallback_model and not turn.choice.fallback
    # guard: fallback-asks-a-failed-model-once
    if is_first and services.log.progress.models.unsure_until > time.time():
        return 0
    return turn.profile.retries


def _request(turn: ActiveTurn, history: History, *, may_call: bool) -> Request:
    return Request(
        model=turn.profile.model,
        system=turn.profile.system,
        messages=history.messages(),
        tools=turn.toolbox.specs(),
        max_tokens=turn.profile.max_tokens,
        parameters=turn.profile.parameters,
        may_call=may_call,
        as_text_for=history.text_form.server if history.text_form.until > time.time() else "",
    )


@dataclass(slots=True)
class _ModelCall:
    """The current attempt: its id, the history that it reads, the offsets of its live text, and whether its
    usage is recorded.
    """

    services: TurnServices
    turn: ActiveTurn
    may_call: bool
    stream: retrying.RetryingStream | None = None
    attempt: int = 1
    history: History = History()
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    text_length: int = 0
    thought_length: int = 0
    usage_recorded: bool = False

    async def begin(self, *, warns: bool) -> None:
        """Store the row of the first attempt, with results not stored yet and the warnings that are due."""
        turn = self.turn
        warnings = limits.warnings_before_call(
            self.services.log.progress, turn.profile.limits, turn.seconds, turn.next_call
        )
        await self._commit_row(*(warnings if warns else ()))

    async def _commit_row(self, *entries: events.Event) -> None:
        row = self.turn.call_started(self.id, attempt=self.attempt)
        try:
            self.history = await self.services.log.commit(*entries, row)
        except limits.TurnLimitReached:
            self.usage_recorded = True  # the attempt has no row and sends no request
            raise
        self.services.traces.begin(self.id)
        if self.may_call:  # a summary at a limit is the last call of its turn, by whichever model
            require_choice(self.turn, self.services)

    def live_event(self, delta: TextDelta | ThinkingDelta) -> events.Event:
        """The live event of a streamed piece, with its offset in the whole text."""
        self.turn.shown = True
        if isinstance(delta, TextDelta):
            offset, self.text_length = self.text_length, self.text_length + len(delta.text)
            return events.TextStreamed(call_id=self.id, offset=offset, text=delta.text)
        offset, self.thought_length = self.thought_length, self.thought_length + len(delta.text)
        return events.ThoughtStreamed(call_id=self.id, offset=offset, text=delta.text)

    def record_form(self, form: HistoryForm) -> None:
        """Add the form of histories that the server was found to take, for this worker and the next ones."""
        text, until = (AS_TEXT, time.time() + AS_TEXT_SECONDS) if form.as_text else (AS_USUAL, 0.0)
        noticed = events.ModelNoticed(
            code=HISTORY_FORM, text=text, call_id=self.id, server=form.server, until=until
        )
        self.services.log.add(noticed)

    def record_usage(self, attempt: retrying.Attempt) -> None:
        """Add the usage of the attempt, however it ended."""
        self.usage_recorded = True
        usage = events.UsageRecorded(
            call_id=self.id,
            model=self.turn.profile.model,
            attempt=attempt.number,
            outcome=attempt.outcome,
            seen_seq=self.history.seq,
            seconds=round(attempt.seconds, 3),
            **usage_fields(attempt.usage, self.turn.profile, unanswered=self.turn.next_call),
            **self._request_fields(attempt),
        )
        self.services.log.add(usage)
        self.services.traces.end(usage, attempt)

    def _request_fields(self, attempt: retrying.Attempt) -> dict[str, Any]:
        """The size of the request, if the attempt was answered."""
        if not attempt.done:
            return {}
        size = request_size_of(self.turn, self.history)
        usage = attempt.usage
        if not usage.estimated:
            size = size.counted(usage.input + usage.cache_read + usage.cache_write)
        window = window_of(self.turn.profile, self.services.log.progress)
        return {"context": size.as_context(window), "request_characters": size.characters}

    def record_discarded(self, attempt: retrying.Attempt, error: ModelError | None) -> None:
        """Add the text of a failed attempt if it was shown. People can read it, the model cannot."""
        # guard: engine-discarded-text
        if attempt.shown:
            cause = error.code if error else "cancelled"
            text = "" if error else attempt.text
            self.services.log.add(events.MessageDiscarded(call_id=self.id, cause=cause, text=text))

    def close(self) -> None:
        """Record an attempt that was cancelled, also if it had not sent its request yet."""
        if not self.usage_recorded:
            attempt = self.stream.attempt if self.stream else retrying.Attempt(self.attempt)
            self.record_usage(attempt)
            self.record_discarded(attempt, None)

    async def begin_retry(self, step: retrying.Retrying) -> None:
        """Store why the next attempt comes, before the wait, so that people see it.

        Raises ``TurnLimitReached`` if a limit forbids it.
        """
        await self.services.log.commit()  # the usage of the failed attempt counts
        # guard: engine-limits-of-an-attempt
        if reached := await limit_before_call(self.turn, self.services):
            raise limits.TurnLimitReached(reached)
        facts = {"call": self.id, "attempt": step.attempt, "cause": step.cause}
        logger.warning("model call is retried", extra=facts)
        retried = events.ModelRetried(
            call_id=self.id,
            attempt=step.attempt,
            wait_seconds=round(step.wait_seconds, 1),
            cause=step.cause,
            code=step.code,
        )
        self.id, self.attempt = uuid.uuid4().hex, step.attempt + 1
        self.text_length = self.thought_length = 0
        self.usage_recorded = False
        await self._commit_row(retried)

    def record_reply(self, reply: Reply, *, may_call: bool) -> RecordedReply:
        """Add the blocks of the reply in their order, which some providers insist on."""
        # guard: engine-only-reasoning
        if reply.is_only_reasoning and (self.services.log.progress.nudged or not may_call):
            reply = self._with_reasoning_as_answer(reply)
        cut = reply.stop is StopReason.OUTPUT_LIMIT
        continues = cut and self.services.log.progress.continuations < MAX_CONTINUATIONS
        has_message = False
        for notice in reply.notices:
            noticed = events.ModelNoticed(code=notice.code, text=notice.text, call_id=self.id)
            self.services.log.add(noticed)
        for block in reply.blocks:
            match block:
                case Thinking():
                    self.services.log.add(self._thought(block))
                case Text() if reply.text.strip() and not has_message:
                    has_message = True  # all text blocks are one message, as in the live text
                    self.services.log.add(self._message(reply.text, truncated=continues))
                case ToolUse() if may_call:
                    self.services.log.add(self._tool_call(block))
        if continues and not has_message:
            self.services.log.add(self._message("", truncated=True))
        return RecordedReply(reply, continues)

    def _with_reasoning_as_answer(self, reply: Reply) -> Reply:
        """The reply with its reasoning as the text, since the model gives no other answer."""
        notice = Notice("only_reasoning", ONLY_REASONING)
        text = Text(reply.reasoning)
        others = tuple(block for block in reply.blocks if not isinstance(block, Thinking))
        return replace(reply, blocks=(*others, text), notices=(*reply.notices, notice))

    def _thought(self, block: Thinking) -> events.ThoughtRecorded:
        return events.ThoughtRecorded(
            call_id=self.id,
            text=block.text,
            signature=block.signature,
            redacted=block.redacted,
            attached=block.attached,
        )

    def _message(self, text: str, *, truncated: bool) -> events.MessageSpoken:
        return events.MessageSpoken(
            call_id=self.id,
            text=text,
            model=self.turn.profile.model,
            demo=self.turn.profile.demo,
            truncated=truncated,
        )

    def _tool_call(self, use: ToolUse) -> events.ToolCalled:
        effect, subject = _effect_and_subject(use, self.turn)
        return events.ToolCalled(
            call_id=use.call_id,
            tool=use.tool,
            arguments=use.arguments,
            effect=effect,
            subject=subject,
            model_call_id=self.id,
            problem=use.problem,
            attached=use.attached,
        )


def usage_fields(
    usage: Usage, profile: AgentProfile, *, unanswered: Amounts = NOTHING
) -> dict[str, Any]:
    """Tokens and cost as fields of ``UsageRecorded``. Null means that the provider did not tell.

    ``unanswered`` is what a request has taken at most of which the provider told nothing.
    """
    cost: float | None = None
    # guard: usage-failure-of-a-price-is-tolerated
    with tolerated("usage"):
        cost = 0.0 if profile.demo else cost_usd(profile.model, usage, base_url=profile.base_url)
    if usage.estimated:
        unknown = dict.fromkeys(("input", "output", "cache_read", "cache_write", "cost_usd"))
        tokens = usage.input + usage.output
        # guard: budget-counts-an-unanswered-request
        if not tokens:
            taken = _taken_unanswered(unanswered, profile)
            tokens, cost = taken.tokens, taken.cost_usd
        return {**unknown, "estimated_tokens": tokens, "estimated_usd": cost or 0.0}
    return {
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "cost_usd": cost,
    }


def _taken_unanswered(at_most: Amounts, profile: AgentProfile) -> Amounts:
    """What is counted for a request without any answer. A provider may bill all of it.

    A server of one's own bills nothing, and ends its work with the connection: only what it was sent is counted, so
    that a server which hangs does not use up the tokens of a day.
    """
    # guard: budget-of-a-server-that-hangs
    if not profile.time_limits.own_server:
        return at_most
    return replace(at_most, tokens=max(0, at_most.tokens - most_answered(profile)))


def _effect_and_subject(use: ToolUse, turn: ActiveTurn) -> tuple[str, str]:
    """The effect of the call, and its subject for the card. An invalid call has no subject."""
    try:
        call = turn.toolbox.parse(use.tool, use.arguments)
    except PacaError:
        return Effect.OPAQUE.value, ""
    return call.tool.effect.value, call.subject
