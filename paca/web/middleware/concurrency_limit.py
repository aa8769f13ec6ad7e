"""So many requests are answered at once; the others wait in line, without a thread or a connection."""

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

# Asks nothing of the database, and answers while everything else is stuck.
NEVER_WAITS = "/healthz"


class Places:
    """Wraps pages and API: Django would begin a thread for each request, however many there are.

    A place is taken once the request has come whole and given back when its answer begins to go
    out, so that nobody holds one who sends or reads slowly.
    """

    def __init__(self, application: Application, places: int = database_threads.PAGES) -> None:
        self._application = application
        self._places = places
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free = asyncio.Semaphore(places)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["path"] == NEVER_WAITS:
            await self._application(scope, receive, send)
            return
        place = _Place(self._line())

        async def receive_and_wait() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                await place.take()
            return message

        async def give_back_and_send(message: Message) -> None:
            place.give_back()
            await send(message)

        try:
            await self._application(scope, receive_and_wait, give_back_and_send)
        finally:
            place.give_back()

    def _line(self) -> asyncio.Semaphore:
        """That of the loop which serves now; a second server in one process has its own."""
        if self._loop is not asyncio.get_running_loop():
            self._loop = asyncio.get_running_loop()
            self._free = asyncio.Semaphore(self._places)
        return self._free


class _Place:
    """One request's: taken once and given back once."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._held = False

    async def take(self) -> None:
        await self._free.acquire()
        self._held = True

    def give_back(self) -> None:
        if self._held:
            self._held = False
            self._free.release()


def give_back_connections(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: whoever reads the answer slowly keeps no connection of the pool either."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        try:
            return get_response(request)
        finally:
            for connection in connections.all(initialized_only=True):
                # One that is not open stays so, and a test around the request keeps its transaction.
                if connection.connection is not None and not connection.in_atomic_block:
                    connection.close_if_unusable_or_obsolete()

    return answer
