"""The worker's door to the database: sync functions in its own threads, never the pages' ones."""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar

from django.db import close_old_connections, connections

from paca.common import database_errors, database_threads

P = ParamSpec("P")
T = TypeVar("T")

THREADS = database_threads.WORKER


class Database:
    """Calls sync functions in a small executor; each thread keeps its connection while it is sound."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="paca-worker-db")

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``function`` in a database thread. A call that was begun always ends."""
        loop = asyncio.get_running_loop()
        # What is logged there is about what the caller is about.
        within = copy_context()
        work = functools.partial(_with_sound_connection, function, *args, **kwargs)
        return await uninterrupted(_awaited(loop.run_in_executor(self._executor, within.run, work)))

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The same for a thread that has no event loop: it waits for what this gives."""
        return self._executor.submit(
            functools.partial(_with_sound_connection, function, *args, **kwargs)
        )

    def close(self) -> None:
        """Close the connection of every thread, then end the threads."""
        together = threading.Barrier(THREADS)

        def close() -> None:
            together.wait()  # none may take the job of another
            connections.close_all()

        for _ in range(THREADS):
            self._executor.submit(close)
        self._executor.shutdown(wait=True)


def _with_sound_connection(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    close_old_connections()
    try:
        return function(*args, **kwargs)
    except database_errors.UNAVAILABLE_ERRORS as fault:
        database_errors.note_disk_full(fault)
        raise


async def _awaited(future: asyncio.Future[T]) -> T:
    return await future


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Let ``work`` end although the caller is cancelled, and cancel the caller only then.

    A transaction whose thread runs on must not be forgotten by the task that began it.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                continue
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error from error.__cause__  # which tells whether there was no room
        raise
