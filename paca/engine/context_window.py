"""Keeps the requests of a turn within the model's window: old tool results are left out, or a summary is made."""

from __future__ import annotations

from paca import events
from paca.engine import limits
from paca.engine.before_call import limit_before_call
from paca.engine.compaction import compact
from paca.engine.context import trimming
from paca.engine.context.measuring import RequestSize, size_of
from paca.engine.llm.model_errors import ContextExceeded
from paca.engine.request_size import request_size_of, window_of
from paca.engine.think import RecordedReply, think
from paca.engine.turn import ActiveTurn, TurnServices

KEPT_RESULTS = 3
# The newest results may not be stored yet: so many tokens below the threshold they are stored and counted.
UNSTORED_TOKENS = 16_000
LEAST_TRIM = 0.1  # of the window: less would rewrite the history again and again
LEAST_WINDOW = 512  # a smaller number in a refusal is no window
MOST_OVERHEAD = 0.7  # of the window: if the system prompt and the tools take more, people are told
TRIMMED, COMPACTED = "trimmed", "compacted"


async def think_within_window(turn: ActiveTurn, services: TurnServices) -> RecordedReply:
    """Ask the model. A history that comes near the window is shortened before the call.

    A refusal for its length shortens it once more: old results are left out, then a summary is made.

    Raises ``TurnLimitReached`` if a limit forbids a call, and the last ``ModelError``; ``ContextExceeded`` if the
    request still does not fit. The next turn then shortens the history further.
    """
    await _make_room(turn, services)
    for may_trim in (True, False):
        try:
            return await think(turn, services)
        except ContextExceeded as refusal:
            shortened = await _shorten_after(refusal, turn, services, may_trim=may_trim)
            # guard: engine-shorten-after-refusal
            if not shortened:
                raise _explained(refusal, turn, services) from refusal
            # The summary has used something, and the next request is another one.
            # guard: engine-limits-after-a-refusal
            if reached := await limit_before_call(turn, services):
                raise limits.TurnLimitReached(reached) from None
            if shortened == COMPACTED:
                break
    try:
        return await think(turn, services)
    except ContextExceeded as refusal:
        raise _explained(refusal, turn, services) from refusal


async def _make_room(turn: ActiveTurn, services: TurnServices) -> None:
    """Make the summary that a person or the agent wants, and shorten a history that comes near the window.

    Raises ``TurnLimitReached`` if a summary has used up a limit.
    """
    if services.log.progress.compaction.called[0]:
        await services.log.commit()  # the result of the call is only added so far
    state = services.log.progress.compaction
    window = window_of(turn.profile, services.log.progress)
    compacted = False
    if state.requested is not None:
        compacted = await compact(turn, services, window=window, wanted=state.requested)
    elif state.full and state.full_model == turn.profile.model:
        compacted = await compact(turn, services, window=window, level=state.full)
    if not compacted and window is not None:
        compacted = await _keep_below(window, turn, services)
    if compacted and (reached := await limit_before_call(turn, services)):
        raise limits.TurnLimitReached(reached)


async def _keep_below(window: int, turn: ActiveTurn, services: TurnServices) -> bool:
    """Shorten a history that fills more of the window than the agent may; True if a summary was made."""
    threshold = turn.profile.compact_at * window
    size = request_size_of(turn, services.log.history)
    if size.used <= threshold - UNSTORED_TOKENS:
        return False
    await services.log.commit()
    size = request_size_of(turn, services.log.history)
    # guard: context-compact-at
    if size.used <= threshold:
        return False
    count, left = _trimmed(size, services, window=window, keep=KEPT_RESULTS)
    if count and left <= threshold - LEAST_TRIM * window:
        await _trim(count, turn, services, window=window)
        return False
    return await compact(turn, services, window=window)


def _trimmed(
    size: RequestSize, services: TurnServices, *, window: int, keep: int
) -> tuple[int, float]:
    """How many old results can be left out, and the tokens of the request without them."""
    closed = services.log.history.closed
    count = trimming.results_to_leave_out(closed, window=window, keep=keep)
    freed = size_of(closed).total - size_of(trimming.leave_out(closed, count)).total
    return count, size.used - freed * size.ratio


async def _trim(
    count: int, turn: ActiveTurn, services: TurnServices, *, window: int, refused: bool = False
) -> None:
    trimmed = events.ContextTrimmed(
        results=count, window=window, model=turn.profile.model, refused=refused
    )
    await services.log.commit(trimmed)


async def _shorten_after(
    refusal: ContextExceeded, turn: ActiveTurn, services: TurnServices, *, may_trim: bool
) -> str:
    """Shorten the history after a refusal for its length: "trimmed", "compacted", or "" if that is not possible.

    The window is the one that the server tells, else the size of the refused request.
    """
    await services.log.commit()
    size = request_size_of(turn, services.log.history)
    told = refusal.window or 0
    window = told if told >= LEAST_WINDOW else size.used
    if may_trim:
        count, left = _trimmed(size, services, window=min(window, size.used), keep=1)
        reserve = min(turn.profile.max_tokens, window // 4)
        if count and left + reserve <= min(window, size.used):
            await _trim(count, turn, services, window=window, refused=True)
            return TRIMMED
    return COMPACTED if await compact(turn, services, window=window, refused=True) else ""


def _explained(
    refusal: ContextExceeded, turn: ActiveTurn, services: TurnServices
) -> ContextExceeded:
    """The refusal; with a sentence more if the agent's instructions and tools alone fill the window."""
    size = request_size_of(turn, services.log.history)
    window = window_of(turn.profile, services.log.progress) or refusal.window or size.used
    if size.overhead_tokens < MOST_OVERHEAD * window:
        return refusal
    return ContextExceeded(
        f"{refusal.detail} The agent's instructions and tools alone take about"
        f" {size.overhead_tokens:,} tokens of a window of {window:,}.",
    )
