"""The agent's loop: think, act, observe, until it answers or a limit ends the turn."""

from __future__ import annotations

from paca import events
from paca.engine import (
    acting,
    call_cancellation,
    limits,
    promised_work,
    reminding,
    summary_at_limit,
)
from paca.engine.approvals.person_tools import reason_of
from paca.engine.approvals.policy import PersonNeeded
from paca.engine.before_call import limit_before_call
from paca.engine.context.history import OpenCall
from paca.engine.fallback import NO_PRICE, has_no_price, think_with_fallback
from paca.engine.llm.base import StopReason
from paca.engine.llm.model_errors import ModelError
from paca.engine.llm.text_tool_calls.parser import ends_with_unreadable_call, trailing_call
from paca.engine.loop_guard import GUARD
from paca.engine.model_choice import apply_choice
from paca.engine.think import RecordedReply
from paca.engine.time_limit import within_time
from paca.engine.turn import (
    ActiveTurn,
    TurnOutcome,
    TurnServices,
    outcome_of_model_error,
)

ANSWERED = TurnOutcome("finished", "answered")
NO_ANSWER = "Your reply held reasoning and no answer. Write the answer now, or call a tool."


async def run_until_done(turn: ActiveTurn, services: TurnServices) -> TurnOutcome:
    """Work on the turn until the agent answers, a limit pauses it, it waits for a person, or cannot go on.

    The events of the last step are added to the log and not committed: the transaction that ends
    the turn stores them.

    Raises ``SandboxBroken`` if the sandbox does not start, ``Superseded`` if another worker has the
    sandbox, and the errors of ``EventLog.commit``.
    """
    try:
        try:
            return await _take_steps(turn, services)
        except limits.TurnLimitReached as reached:
            return await _end_at_limit(reached.limit, turn, services)
    except PersonNeeded as needed:
        return TurnOutcome("waiting", reason_of(needed.request), request=needed.request)
    except ModelError as error:  # also of the summary at the limit
        return outcome_of_model_error(error, turn.profile)


async def _take_steps(turn: ActiveTurn, services: TurnServices) -> TurnOutcome:
    """Think and act until the turn ends. Raises ``TurnLimitReached`` or the last ``ModelError``."""
    apply_choice(turn, services)
    if outcome := _refuse_unknown_price(turn):
        return outcome
    open_calls = services.log.history.open_calls()
    await within_time(turn, acting.run_calls(open_calls, turn, services))
    while True:
        apply_choice(turn, services)
        if outcome := await _end_before_call(turn, services):
            return outcome
        await within_time(turn, _refresh_tools(turn, services))
        reminding.give_hint(turn, services)
        recorded = await within_time(turn, think_with_fallback(turn, services))
        # guard: engine-text-call-correction
        if (
            _correct_text_call(recorded, turn, services)
            or _ask_for_answer(recorded, services)
            or _ask_for_work(recorded, turn, services)
        ):
            continue
        if outcome := _end_after_reply(recorded):
            if outcome is ANSWERED and await reminding.asks_to_verify(turn, services):
                continue
            return outcome
        calls = [OpenCall(call) for call in recorded.reply.calls]
        await within_time(turn, acting.run_calls(calls, turn, services))


async def _refresh_tools(turn: ActiveTurn, services: TurnServices) -> None:
    """Take the news of MCP servers: tools enter between two steps only."""
    if services.refresh_tools is None:
        return
    news = await services.refresh_tools()
    services.log.add(*news.events)
    turn.toolbox = news.toolbox or turn.toolbox


def _refuse_unknown_price(turn: ActiveTurn) -> TurnOutcome | None:
    """A limit in dollars has no effect if the model's price is unknown. A limit of tokens has."""
    if not has_no_price(turn.profile, turn.profile.limits):
        return None
    detail = NO_PRICE.format(turn.profile.model)
    return TurnOutcome("failed", "configuration", detail, "Give the agent a limit of tokens.")


async def _end_before_call(turn: ActiveTurn, services: TurnServices) -> TurnOutcome | None:
    """The outcome if a person, a limit or the loop guard ends the turn before the next model call."""
    if turn.pause_asked_by:
        return TurnOutcome("paused", "by_person", next_step="Write a message or press Continue.")
    is_first = services.log.progress.steps == 0
    if limit := await limit_before_call(turn, services, is_first=is_first):
        return await _end_at_limit(limit, turn, services)
    # A message may have changed the model, and somebody the limits.
    # guard: engine-unknown-price-of-a-later-step
    if outcome := _refuse_unknown_price(turn):
        return outcome
    return await _end_if_stuck(services)


async def _end_if_stuck(services: TurnServices) -> TurnOutcome | None:
    """Warn a model that repeats the same step. Pause the turn if it goes on with it."""
    if not services.log.progress.loop_guard.is_suspect:
        return None
    await services.log.commit()  # the newest results count too, and are only added so far
    loop_guard = services.log.progress.loop_guard
    # guard: engine-loop-stuck
    if loop_guard.is_stuck:
        return TurnOutcome("paused", "stuck", loop_guard.pause_detail)
    if loop_guard.needs_warning:
        services.log.add(events.GuardNoticed(guard=GUARD, note=loop_guard.model_message))
    return None


def _correct_text_call(recorded: RecordedReply, turn: ActiveTurn, services: TurnServices) -> bool:
    """Tell the model, once a turn, that a tool call in its text was not run; True if it was told."""
    if recorded.reply.calls or recorded.continues or services.log.progress.corrected:
        return False
    note = _text_call_note(recorded.reply.text, turn)
    if not note:
        return False
    services.log.add(events.GuardNoticed(guard="text_tool_call", note=note))
    return True


def _ask_for_answer(recorded: RecordedReply, services: TurnServices) -> bool:
    """Tell the model, once a turn, that its reply had nothing but reasoning; True if it was told."""
    if not recorded.reply.is_only_reasoning:
        return False
    services.log.add(events.GuardNoticed(guard="only_reasoning", note=NO_ANSWER))
    return True


def _ask_for_work(recorded: RecordedReply, turn: ActiveTurn, services: TurnServices) -> bool:
    """Tell the model, once in an unattended turn, that it has announced work and done none; True if it was told."""
    reply = recorded.reply
    progress = services.log.progress
    # guard: engine-promised-work-in-a-chat
    if not turn.profile.unattended or progress.chatting or progress.promised:
        return False
    if reply.calls or recorded.continues or reply.stop is StopReason.REFUSED:
        return False
    # guard: engine-promised-work
    if not promised_work.promises_work(reply.text):
        return False
    services.log.add(events.GuardNoticed(guard=promised_work.GUARD, note=promised_work.NOTE))
    return True


def _text_call_note(text: str, turn: ActiveTurn) -> str:
    """The correction if the answer ends with a tool call that was not run; else empty."""
    if turn.profile.text_tool_calls:
        if not ends_with_unreadable_call(text):
            return ""
        return "The call at the end of your answer could not be read, so nothing was run. Write it again, as valid JSON."
    tool = trailing_call(text, [spec.name for spec in turn.toolbox.specs()])
    if tool is None:
        return ""
    return (
        f"You wrote a call of {tool} into your answer; nothing was run. If you meant to run it,"
        " make it a real tool call. If it was an example, say so."
    )


def _end_after_reply(recorded: RecordedReply) -> TurnOutcome | None:
    """The outcome if the turn ends with this reply, else None."""
    reply = recorded.reply
    if reply.stop is StopReason.REFUSED:
        detail = "The model declined to answer."
        return TurnOutcome("failed", "model_refused", detail, "Change the request, then try again.")
    if reply.calls or recorded.continues:
        return None
    if reply.stop is StopReason.OUTPUT_LIMIT and not reply.text.strip():
        detail = (
            "The model reached its output limit again and again before it had said anything."
            " Raise max_tokens of the agent."
        )
        return TurnOutcome("paused", "stuck", detail)
    return ANSWERED


async def _end_at_limit(
    limit: limits.ReachedLimit, turn: ActiveTurn, services: TurnServices
) -> TurnOutcome:
    """Pause at a limit. If the turn has done something, the model first writes a summary, without tools.

    Tool calls that the time limit has cancelled get a result.
    """
    await services.log.commit()
    # guard: engine-limit-takes-no-answer
    if services.log.progress.reminders.checking:
        return ANSWERED  # there was no room to check it
    if limit.reason == "time_limit":
        why = f"Stopped at the time limit of {limit.amount}."
        await call_cancellation.cancel(services.log.history.open_calls(), turn, services, why=why)
    summary = summary_at_limit.may_summarise(turn, services)
    services.log.add(
        events.LimitReached(
            which=limit.reason, limit=limit.limit, budget=limit.budget, summary=summary
        )
    )
    # guard: engine-summary-at-a-limit
    if summary:
        await summary_at_limit.summarise(limit, turn, services)
    return TurnOutcome(
        "paused",
        limit.reason,
        limit.detail,
        limit=limit.limit,
        budget=limit.budget,
        used=limit.used,
    )
