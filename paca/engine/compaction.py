"""Puts a summary in place of what came before, so that a conversation goes on in the model's window.

The summary and the usage of its call are stored in one transaction. A worker that dies before it leaves a log
without a summary, and the next worker makes one; after it the summary is part of the history.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from paca import events
from paca.engine.compaction_state import AUTOMATIC, CompactionRequest
from paca.engine.context import transcript
from paca.engine.context.carrying import NO_SUMMARY, carried_text
from paca.engine.context.cutting import Budget, Cut, budget_of, plan_cut
from paca.engine.context.history import advance
from paca.engine.context.measuring import RequestSize, size_of
from paca.engine.context.replacing import format_summary
from paca.engine.context.summary_prompt import summary_request
from paca.engine.llm.model_errors import (
    ContextExceeded,
    KeyRefused,
    ModelError,
    ModelMisconfigured,
)
from paca.engine.request_size import request_size_of
from paca.engine.side_call import ask_beside
from paca.engine.turn import ActiveTurn, TurnServices

logger = logging.getLogger(__name__)

PURPOSE = "compaction"
SUMMARY_TRIES = (
    3  # the second and third with the half of the text, if the server refuses its length
)
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
    summary = await _summarise(cut, budget, size, wanted.focus, turn, services)
    # guard: context-summary-must-win
    if cut.kept + len(format_summary(summary, carried)) > budget.total:
        summary = ""
    compacted = events.ContextCompacted(
        summary=summary or NO_SUMMARY,
        upto_seq=cut.upto_seq,
        tokens_before=size.used,
        tokens_after=0,
        focus=wanted.focus,
        by=wanted.by,
        model=turn.profile.model if summary else "",
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
    return carried_text(
        services.log.progress.compaction,
        upto_seq=cut.upto_seq,
        characters=budget.carried,
        tasks=tasks,
        newest="\n".join(newest),
    )


def _measured(
    event: events.ContextCompacted, turn: ActiveTurn, services: TurnServices, window: int | None
) -> events.ContextCompacted:
    """The event with the size of the request after it."""
    history = services.log.history
    after = request_size_of(turn, advance(history, event, history.seq + 1))
    return replace(event, tokens_after=after.used, context=after.as_context(window))


async def _summarise(
    cut: Cut,
    budget: Budget,
    size: RequestSize,
    focus: str,
    turn: ActiveTurn,
    services: TurnServices,
) -> str:
    """The summary of the model; empty if it gave none.

    The text is cut so that each request fits. A refusal for its length halves it, twice.
    """
    if turn.profile.demo:
        return ""
    room = int(budget.limit * 0.9) - budget.summary - int(_thinking_tokens(turn))
    characters = max(1_000, size.characters_of(room) - 3_000)  # for instructions and summary so far
    for _ in range(SUMMARY_TRIES):
        parts = transcript.parts_of(cut.replaced, characters=characters)
        try:
            return await _summarise_parts(parts, budget.summary, focus, turn, services)
        except ContextExceeded:
            characters = max(1_000, characters // 2)
        except (KeyRefused, ModelMisconfigured):
            raise  # the next call of the conversation would fail in the same way
        except ModelError as error:
            logger.warning("no summary could be made", extra={"code": error.code})
            break
    return ""


def _thinking_tokens(turn: ActiveTurn) -> float:
    budget = turn.profile.parameters.get("thinking_budget")
    return budget if isinstance(budget, int | float) else 0


async def _summarise_parts(
    parts: list[str], tokens: int, focus: str, turn: ActiveTurn, services: TurnServices
) -> str:
    """One summary of all parts: each call extends the summary so far by the next part."""
    summary = ""
    for number, part in enumerate(parts, 1):
        services.log.add(events.ContextCompacting(part=number, parts=len(parts)))
        profile = turn.profile
        request = summary_request(
            profile.model, profile.parameters, part, so_far=summary, focus=focus, tokens=tokens
        )
        reply = await ask_beside(turn, services, request, purpose=PURPOSE)
        summary = transcript.shorten(reply.text.strip(), tokens * 8)
        if not summary:
            break
    return summary
