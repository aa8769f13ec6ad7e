"""Runs the handlers of custom tools, each call in a thread of its own: a slow handler stops nothing else."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

# A handler that ignores its time limit keeps its thread. With so many of them further calls are refused.
MAX_THREADS = 64


class TooManyHandlers(Exception):
    """``MAX_THREADS`` handlers run already."""


@dataclass(frozen=True, slots=True)
class HandlerOutcome:
    """What a handler gave back, or the error that it raised."""

    value: Any = None
    error: BaseException | None = None


class _Running:
    """How many handlers run in this process."""

    def __init__(self) -> None:
        self._count, self._lock = 0, threading.Lock()

    def enter(self) -> None:
        with self._lock:
            # guard: custom-tools-threads-are-bounded
            if self._count >= MAX_THREADS:
                raise TooManyHandlers
            self._count += 1

    def leave(self) -> None:
        with self._lock:
            self._count -= 1


_running = _Running()


async def run(handle: Callable[[], Any]) -> HandlerOutcome:
    """Call ``handle`` in a new thread, and await what it gives there, in an event loop of its own.

    If the caller is cancelled, an async handler is cancelled too. Another one runs on, and its outcome is
    ignored. Raises ``TooManyHandlers``.
    """
    _running.enter()
    call = _HandlerCall(handle, asyncio.get_running_loop())
    context = contextvars.copy_context()  # the fields of the log
    thread = threading.Thread(
        target=context.run, args=(call.carry_out,), name="custom tool", daemon=True
    )
    try:
        thread.start()
    except RuntimeError:  # the system has no thread left
        _running.leave()
        raise TooManyHandlers from None
    try:
        return await call.done
    except asyncio.CancelledError:
        call.cancel()
        raise


class _HandlerCall:
    """One call of a handler: its thread, and the event loop that waits for it."""

    def __init__(self, handle: Callable[[], Any], waiting: asyncio.AbstractEventLoop) -> None:
        self.done: asyncio.Future[HandlerOutcome] = waiting.create_future()
        self._handle, self._waiting = handle, waiting
        self._lock = threading.Lock()
        self._cancelled = False
        self._inner: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def carry_out(self) -> None:
        """Run in the thread."""
        try:
            value = self._handle()
            if inspect.isawaitable(value):
                value = asyncio.run(self._await(value))
            outcome = HandlerOutcome(value)
        except BaseException as error:  # noqa: BLE001 - it must not end a thread unseen; the waiting loop gets it
            outcome = HandlerOutcome(error=error)
        finally:
            _running.leave()
        with suppress(RuntimeError):  # the waiting loop has ended with its worker
            self._waiting.call_soon_threadsafe(self._deliver, outcome)

    async def _await(self, value: Awaitable[Any]) -> Any:
        task = asyncio.current_task()
        assert task is not None
        with self._lock:
            self._inner = asyncio.get_running_loop(), task
            if self._cancelled:
                task.cancel()
        return await value

    def cancel(self) -> None:
        """Cancel an async handler, from the waiting loop."""
        with self._lock:
            self._cancelled = True
            if self._inner is not None:
                loop, task = self._inner
                with suppress(RuntimeError):  # the handler has ended, and its loop with it
                    loop.call_soon_threadsafe(task.cancel)

    def _deliver(self, outcome: HandlerOutcome) -> None:
        if not self.done.done():
            self.done.set_result(outcome)
