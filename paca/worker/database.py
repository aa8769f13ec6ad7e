"""The database threads of the worker, apart from those of the pages."""

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
    """Runs sync functions in a small thread pool. Each thread keeps its connection while it works."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="paca-worker-db")

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``function`` in a database thread. It runs to its end even if the caller is cancelled.

        Raises whatever ``function`` raises.
        """
        loop = asyncio.get_running_loop()
        # Log records of the thread get the fields of the caller, such as the conversation.
        context = copy_context()
        job = functools.partial(_with_usable_connection, function, *args, **kwargs)
        return await run_to_end(loop.run_in_executor(self._executor, context.run, job))

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Like ``call``, for a thread without an event loop. Raises ``RuntimeError`` after ``close``."""
        return self._executor.submit(
            functools.partial(_with_usable_connection, function, *args, **kwargs)
        )

    def close(self) -> None:
        """Close the connection of every thread, then end the threads."""
        barrier = threading.Barrier(THREADS)

        def close() -> None:
            barrier.wait()  # each thread must take exactly one of these jobs
            connections.close_all()

        for _ in range(THREADS):
            self._executor.submit(close)
        self._executor.shutdown(wait=True)


def _with_usable_connection(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    close_old_connections()
    try:
        return function(*args, **kwargs)
    except database_errors.UNAVAILABLE_ERRORS as fault:
        database_errors.note_disk_full(fault)
        raise


async def run_to_end(work: Coroutine[Any, Any, T] | asyncio.Future[T]) -> T:
    """Wait for the end of ``work`` even if the caller is cancelled. Gives its result.

    A thread cannot be cancelled, and the task that started a transaction must learn how it ended. After
    a cancellation it raises the error of ``work`` if there is one, and ``CancelledError`` otherwise.
    """
    future = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            try:
                await asyncio.wait({future})
            except asyncio.CancelledError:
                continue
        if not future.cancelled() and (error := future.exception()) is not None:
            raise error from error.__cause__  # the cause tells whether the disk is full
        raise
