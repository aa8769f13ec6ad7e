"""The time limit of a turn, which ends model calls and tool calls while they run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from paca.engine.limits import ReachedLimit, TurnLimitReached
from paca.engine.turn import ActiveTurn

T = TypeVar("T")


async def within_time(turn: ActiveTurn, work: Coroutine[Any, Any, T], *, more: float = 0.0) -> T:
    """The result of a model call or of tool calls, which are cancelled at the time limit of the turn.

    ``more``: so many seconds after the limit are allowed. Raises ``TurnLimitReached`` at the end.
    """
    seconds = turn.profile.limits.seconds
    # guard: engine-time-limit
    left = None if seconds is None else max(0.0, seconds - turn.seconds) + more
    try:
        async with asyncio.timeout(left) as timer:
            return await work
    except TimeoutError:
        if seconds is None or not timer.expired():
            raise
        raise TurnLimitReached(ReachedLimit("time_limit", seconds)) from None
