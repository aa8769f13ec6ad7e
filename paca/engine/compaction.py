"""Puts a summary in place of what came before, so that a conversation goes on in the model's window.

The summary and the usage of its call are stored in one transaction. A worker that dies before it leaves a log
without a summary, and the next worker makes one; after it the summary is part of the history.
"""

from __future__ import annotations

from dataclasses import replace

from paca import events
from paca.engine.compaction_state import AUTOMATIC, CompactionRequest
from paca.engine.context import transcript
from paca.engine.context.carrying import NO_SUMMARY, carried_text
from paca.engine.context.cutting import Budget, Cut, budget_of, plan_cut
from paca.engine.context.history import advance
from paca.engine.context.measuring import RequestSize, size_of
from paca.engine.context.replacing import format_summary
from paca.engine.request_size import request_size_of
from paca.engine.summary_writing import Summary, write_summary
from paca.engine.turn import ActiveTurn, TurnServices

LIMIT_IF_UNKNOWN = 16_000  # tokens, if nobody has told the window
AUTOMATICALLY = CompactionRequest(AUTOMATIC)


async def compact(
    turn: ActiveTurn,
    services: TurnServices,
    *,
    window: int | None,
    wanted: CompactionRequest = AUTOMATICALLY,
    refused: bool = False,
    level: int = 0,
) -> bool:
    """Put a summary in place of what came before; False if that would win less than a quarter.

    The oldest messages are replaced and the newest stay, unless the newest step alone is too long. If no
    summary can be made, a note without one stands in its place. ``window`` is in tokens, and None if it is
    unknown. ``refused``: the server has refused the history for its length. ``level`` counts how often it
    did not fit before.

    Raises ``TurnLimitReached`` if a limit forbids the call, and the ``ModelError`` of settings that cannot
    work.
    """
    await services.log.commit()  # the newest results count too, and are only added so far
    size = request_size_of(turn, services.log.history)
    budget = budget_of(
        size,
        limit=_limit(window, size, refused=refused),
        max_tokens=turn.profile.max_tokens,
        level=level,
        refused=refused,
    )
    cut = plan_cut(services.log.history, budget)
    carried = await _carried(cut, budget, services) if cut else ""
    if cut is None or cut.kept + len(format_summary(NO_SUMMARY, carried)) > budget.total:
        await _skip(wanted, services)
        return False
    summary = await write_summary(cut.replaced, budget, size, wanted.focus, turn, services)
    # guard: context-summary-must-win
    if cut.kept + len(format_summary(summary.text, carried)) > budget.total:
        summary = Summary()
    compacted = events.ContextCompacted(
        summary=summary.text or NO_SUMMARY,
        upto_seq=cut.upto_seq,
        tokens_before=size.used,
        tokens_after=0,
        focus=wanted.focus,
        by=wanted.by,
        model=summary.model,
        carried=carried,
        window=window,
        refused=refused,
    )
    await services.log.commit(_measured(compacted, turn, services, window))
    return True


def _limit(window: int | None, size: RequestSize, *, refused: bool) -> int:
    """The tokens that a request may have. A refused one was too long, whatever the window is said to be."""
    if refused:
        return min(window or size.used, size.used)
    return window or max(size.used, LIMIT_IF_UNKNOWN)


async def _skip(wanted: CompactionRequest, services: TurnServices) -> None:
    if wanted is not AUTOMATICALLY:
        skipped = events.ContextCompactionSkipped(reason="too_little", by=wanted.by)
        await services.log.commit(skipped)


async def _carried(cut: Cut, budget: Budget, services: TurnServices) -> str:
    tasks = await services.open_tasks() if services.open_tasks else ""
    step = (
        cut.newest if size_of(cut.newest).results else ()
    )  # else it is a message, which is carried anyway
    newest = transcript.parts_of(step, characters=budget.carried)
    progress = services.log.progress
    return carried_text(
        progress.compaction,
        upto_seq=cut.upto_seq,
        characters=budget.carried,
        tasks=tasks,
        plan="\n".join(filter(None, (progress.plan.carried, progress.background.carried))),
        newest="\n".join(newest),
    )


def _measured(
    event: events.ContextCompacted, turn: ActiveTurn, services: TurnServices, window: int | None
) -> events.ContextCompacted:
    """The event with the size of the request after it."""
    history = services.log.history
    after = request_size_of(turn, advance(history, event, history.seq + 1))
    return replace(event, tokens_after=after.used, context=after.as_context(window))
