"""Waiting inside an event loop for a fact of any kind."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], object], seconds: float = 20) -> None:
    """Wait until the condition holds. Raises ``TimeoutError`` if it does not within so many seconds."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - conditions of any kind, also of other threads
            await asyncio.sleep(0.002)
