"""Measures how much memory work keeps."""

import gc
import tracemalloc
from collections.abc import Awaitable, Callable

WINDOWS = 4


async def kept_bytes_each(
    work: Callable[[int], Awaitable[None]], *, count: int, below: float
) -> float:
    """The bytes that each of ``count`` rounds of ``work`` keeps, in the best of several windows.

    A leak grows in every window. What grows in one only is no leak: on a busy machine closed connections
    of the last rounds are not freed yet. The first window below ``below`` is good enough.
    """
    tracemalloc.start()
    try:
        await work(5)
        best = float("inf")
        for _ in range(WINDOWS):
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            await work(count)
            gc.collect()
            best = min(best, (tracemalloc.get_traced_memory()[0] - before) / count)
            if best < below:
                break
        return best
    finally:
        tracemalloc.stop()
