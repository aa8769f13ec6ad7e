"""The agent's loop: think, act, observe, until it answers or a limit ends the turn."""

from __future__ import annotations

from paca import events
from paca.engine import acting, limits
from paca.engine.context.history import OpenCall
from paca.engine.llm.base import ModelError, StopReason, Usage
from paca.engine.llm.prices import cost_usd
from paca.engine.llm.text_tool_calls.parser import spoilt_call, written_call
from paca.engine.loop_guard import GUARD
from paca.engine.ports import RunServices
from paca.engine.run import Run, TurnOutcome, outcome_of_model_error
from paca.engine.think import Thought, think

ANSWERED = TurnOutcome("finished", "answered")


async def run_until_done(run: Run, services: RunServices) -> TurnOutcome:
    """Work on the turn until it is answered, paused by a limit, or cannot go on.

    What the last step said is noted in the log for the transaction that ends the turn.
    """
    try:
        if unbounded := _no_known_price(run):
            return unbounded
        await acting.carry_out(services.log.history.open_calls(), run, services)
        while True:
            if halt := await _halt(run, services):
                return halt
            thought = await think(run, services)
            if _correct(thought, run, services):
                continue
            if outcome := _outcome(thought):
                return outcome
            await acting.carry_out([OpenCall(call) for call in thought.reply.calls], run, services)
    except ModelError as error:
        return outcome_of_model_error(error, run.profile)


def _no_known_price(run: Run) -> TurnOutcome | None:
    """A limit in dollars cannot be kept for a model without a known price; tokens can be."""
    profile = run.profile
    unpriced = cost_usd(profile.model, Usage(), base_url=profile.base_url) is None
    if profile.demo or profile.limits.cost_usd is None or profile.limits.tokens or not unpriced:
        return None
    detail = (
        f"The price of {profile.model} is not known here, so its limit in dollars cannot be kept."
    )
    return TurnOutcome("failed", "configuration", detail, "Give the agent a limit of tokens.")


async def _halt(run: Run, services: RunServices) -> TurnOutcome | None:
    """What ends the turn before the model is asked once more: a person, a limit, no progress."""
    if run.pause_asked_by:
        return TurnOutcome("paused", "by_person", next_step="Write a message or press Continue.")
    if limit := limits.reached(services.log.progress, run.profile.limits, run.seconds):
        return await _end_at(limit, run, services)
    return await _end_if_stuck(services)


async def _end_if_stuck(services: RunServices) -> TurnOutcome | None:
    """Tell the model that it takes the same step again and again; pause if it goes on with it."""
    if not services.log.progress.loop_guard.is_suspect:
        return None
    await services.log.commit()  # the newest outcome is only noted so far, and counts
    loop_guard = services.log.progress.loop_guard
    # guard: loop-stuck
    if loop_guard.is_stuck:
        return TurnOutcome("paused", "stuck", loop_guard.pause_detail)
    if loop_guard.needs_warning:
        services.log.add(events.GuardNoticed(guard=GUARD, note=loop_guard.model_message))
    return None


def _correct(thought: Thought, run: Run, services: RunServices) -> bool:
    """Tell the model, once a turn, that a call it only wrote down was not run."""
    if thought.reply.calls or thought.goes_on or services.log.progress.corrected:
        return False
    note = _about_a_written_call(thought.reply.text, run)
    if not note:
        return False
    services.log.add(events.GuardNoticed(guard="text_tool_call", note=note))
    return True


def _about_a_written_call(text: str, run: Run) -> str:
    """What the model should know about a call that ends its answer and was not run; else empty."""
    if run.profile.text_tool_calls:
        if not spoilt_call(text):
            return ""
        return "The call at the end of your answer could not be read, so nothing was run. Write it again, as valid JSON."
    tool = written_call(text, [spec.name for spec in run.toolbox.specs()])
    if tool is None:
        return ""
    return (
        f"You wrote a call of {tool} into your answer; nothing was run. If you meant to run it,"
        " make it a real tool call. If it was an example, say so."
    )


def _outcome(thought: Thought) -> TurnOutcome | None:
    """How the turn ends with this reply, or None if it goes on."""
    reply = thought.reply
    if reply.stop is StopReason.REFUSED:
        detail = "The model declined to answer."
        return TurnOutcome("failed", "model_refused", detail, "Change the request, then try again.")
    if reply.calls or thought.goes_on:
        return None
    if reply.stop is StopReason.OUTPUT_LIMIT and not reply.text.strip():
        detail = (
            "The model reached its output limit again and again before it had said anything."
            " Raise max_tokens of the agent."
        )
        return TurnOutcome("paused", "stuck", detail)
    return ANSWERED


async def _end_at(limit: limits.Reached, run: Run, services: RunServices) -> TurnOutcome:
    """Pause. At the step limit the model first gets one call, without tools, for a summary."""
    services.log.add(events.LimitReached(which=limit.reason, limit=limit.limit))
    if limit.reason == "step_limit" and not services.log.progress.summarising:
        await think(run, services, may_call=False)
    return TurnOutcome("paused", limit.reason, f"The limit is {limit.limit:g}.")
