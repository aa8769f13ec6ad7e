"""Limits how many requests are handled at once. Others wait without a thread or a connection."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.db import connections
from django.http import HttpRequest, HttpResponseBase

from paca.common import database_threads

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

# The health check uses no database and must answer while everything else is stuck.
UNLIMITED_PATH = "/healthz"


class ConcurrencyLimit:
    """ASGI middleware around pages and API. Django alone would start a thread for every request.

    A request takes a slot when its body is complete and releases it when its response starts, so a
    client that sends or reads slowly holds none.
    """

    def __init__(self, application: Application, limit: int = database_threads.PAGES) -> None:
        self._application = application
        self._limit = limit
        self._loop: asyncio.AbstractEventLoop | None = None
        self._semaphore = asyncio.Semaphore(limit)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["path"] == UNLIMITED_PATH:
            await self._application(scope, receive, send)
            return
        slot = _Slot(self._semaphore_of_loop())

        async def receive_and_acquire() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                await slot.acquire()
            return message

        async def release_and_send(message: Message) -> None:
            slot.release()
            await send(message)

        try:
            await self._application(scope, receive_and_acquire, release_and_send)
        finally:
            slot.release()

    def _semaphore_of_loop(self) -> asyncio.Semaphore:
        """The semaphore of the running event loop; a second server in this process has its own."""
        if self._loop is not asyncio.get_running_loop():
            self._loop = asyncio.get_running_loop()
            self._semaphore = asyncio.Semaphore(self._limit)
        return self._semaphore


class _Slot:
    """The slot of one request: acquired once, and released once however often it is asked for."""

    def __init__(self, semaphore: asyncio.Semaphore) -> None:
        self._semaphore = semaphore
        self._held = False

    async def acquire(self) -> None:
        await self._semaphore.acquire()
        self._held = True

    def release(self) -> None:
        if self._held:
            self._held = False
            self._semaphore.release()


def release_connections(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Django middleware that returns connections to the pool before the response is sent.

    A client that reads slowly would keep them otherwise.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        try:
            return get_response(request)
        finally:
            for connection in connections.all(initialized_only=True):
                # Skip connections that are not open, and those in a transaction that a test has opened.
                if connection.connection is not None and not connection.in_atomic_block:
                    connection.close_if_unusable_or_obsolete()

    return middleware
