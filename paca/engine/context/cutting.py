"""Decides how much of a history a summary replaces."""

from __future__ import annotations

from dataclasses import dataclass

from paca.engine.context.history import History
from paca.engine.context.measuring import RequestSize, size_of
from paca.engine.context.replacing import is_boundary
from paca.engine.llm.base import Message

LEAST_WIN = 1 / 4  # of the messages, by every summary
LEAST_WIN_WHEN_FULL = 1 / 10
KEPT_SHARE = 0.2  # of the window: the newest messages, which stay as they are
MAX_SUMMARY_TOKENS = 2_000
MAX_CARRIED_CHARACTERS = 6_000


@dataclass(frozen=True, slots=True)
class Budget:
    """What a history may have after a summary: ``limit`` and ``summary`` in tokens, the rest in characters.

    ``kept``: the newest messages as they are, if they are not longer. ``most``: the newest step, which is
    replaced too if it is longer: if the server may still accept it, it stays. After a refusal that told no
    smaller window the limit is a guess, so it is replaced as soon as it is longer than ``kept``.
    ``carried``: what Paca itself carries over. ``total``: all of it at most.
    """

    limit: int
    summary: int
    kept: int
    most: int
    carried: int
    total: int


@dataclass(frozen=True, slots=True)
class Cut:
    """The messages that a summary replaces, up to the event ``upto_seq``.

    ``kept`` is the number of characters that stay. ``newest`` is the newest step, if it is replaced too.
    """

    replaced: tuple[Message, ...]
    upto_seq: int
    kept: int
    newest: tuple[Message, ...] = ()


def budget_of(
    size: RequestSize, *, limit: int, max_tokens: int, level: int, refused: bool
) -> Budget:
    """The budget for a request of this size that has to fit into ``limit`` tokens.

    ``level`` counts how often it did not fit before: each time the half is left. ``refused``: the server
    has refused it just now.
    """
    limit = max(256, int(limit * 0.5**level))
    reserve = min(max_tokens, limit // 4)
    room = max(limit - size.overhead_tokens - reserve, limit // 8)
    summary = min(MAX_SUMMARY_TOKENS, max(room // 4, 64), max_tokens)
    carried = min(MAX_CARRIED_CHARACTERS, size.characters_of(room / 4), size.sizes.total // 6)
    kept = min(size.characters_of(min(limit * KEPT_SHARE, room / 4)), size.sizes.total * 3 // 10)
    most = size.characters_of(max(limit - size.overhead_tokens, limit // 8))
    total = int(size.sizes.total * (1 - (LEAST_WIN_WHEN_FULL if level else LEAST_WIN)))
    if refused or level:
        most = min(size.characters_of(room - summary), total - size.characters_of(summary))
        most = min(most - carried, kept) if refused and limit >= size.used else most - carried
    return Budget(limit, summary, kept, most, carried, total)


def plan_cut(history: History, budget: Budget) -> Cut | None:
    """The cut at a boundary of whole pairs that keeps the newest messages; None if nothing is before them."""
    messages, closed = history.messages(), history.closed
    # A failed call has closed the newest step, and no answer to it is known.
    # guard: context-newest-step-of-a-refusal
    unanswered = closed[-2:] if len(messages) == len(closed) else ()
    before = len(closed) - len(unanswered)
    newer = size_of(messages).total - size_of(closed).total
    kept = newer + size_of(unanswered).total
    if kept > budget.most >= newer and unanswered:
        return Cut(closed, history.ends[-1], newer, newest=unanswered)
    if kept > budget.most:
        return Cut(messages, history.seq, kept=0, newest=messages[-2:])
    count, kept = _newest_that_stay(closed, before, kept, most=budget.kept)
    if count == 0:
        return None
    return Cut(closed[:count], history.ends[count - 1], kept)


def _newest_that_stay(
    closed: tuple[Message, ...], before: int, kept: int, *, most: int
) -> tuple[int, int]:
    """How many messages to replace, ``before`` at most, and the characters that stay."""
    best = before, kept
    for count in range(before - 1, 0, -1):
        kept += size_of(closed[count : count + 1]).total
        if kept > most:
            break
        if is_boundary(closed, count):
            best = count, kept
    return best
