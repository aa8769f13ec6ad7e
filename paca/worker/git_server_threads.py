"""The threads of a worker that wait for git servers: one that hangs takes none of those that other work needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

P = ParamSpec("P")
T = TypeVar("T")
THREADS, OF_ONE_PROJECT = 16, 4

_executor = ThreadPoolExecutor(THREADS, thread_name_prefix="paca-git-servers")
_places: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()


async def call(project_id: UUID, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``function``, which asks a git server of this project, in a thread.

    A project has at most ``OF_ONE_PROJECT`` of the threads, so that its servers hold up nobody else's. A cancelled
    caller does not wait; the thread keeps its place until the function ends. Raises whatever ``function`` raises.
    """
    places = _places.setdefault(project_id, asyncio.Semaphore(OF_ONE_PROJECT))
    await places.acquire()
    loop, context = asyncio.get_running_loop(), copy_context()

    def give_back(_: object) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody waits for a place
            loop.call_soon_threadsafe(places.release)

    work = _executor.submit(context.run, partial(function, *args, **kwargs))
    work.add_done_callback(give_back)
    return await asyncio.wrap_future(work)
