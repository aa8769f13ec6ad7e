"""Work that is looked after while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


async def while_watched(
    work: Coroutine[Any, Any, ResultT], look: Callable[[], Awaitable[None]], *, seconds: float
) -> ResultT:
    """The result of the work. ``look`` is called again and again meanwhile; what it raises ends the work."""
    working = asyncio.create_task(work)
    looking = asyncio.create_task(_look_repeatedly(look, seconds))
    try:
        await asyncio.wait({working, looking}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            looking.result()  # it ends only by what it raises
        return await working
    finally:
        for task in (working, looking):
            task.cancel()
        await asyncio.gather(working, looking, return_exceptions=True)


async def _look_repeatedly(look: Callable[[], Awaitable[None]], seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        await look()
