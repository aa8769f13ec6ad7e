"""The base class of sockets: it authorizes the client, limits its frames, executes commands and sends."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from uuid import UUID

from django.db import Error as DatabaseError

from paca.bus.base import EventsCommitted, HintsLost, LiveFrame, project_topic
from paca.common import clock, database_errors
from paca.common.errors import PacaError
from paca.common.text import truncate_utf8
from paca.realtime import protocol
from paca.realtime.access import (
    CloseSocket,
    Credential,
    SignInNeeded,
    SocketAccess,
    credential_from,
)
from paca.realtime.database import in_database
from paca.realtime.handshake import Scope
from paca.realtime.live_text import Frame
from paca.realtime.protocol import CloseCode, Command
from paca.realtime.relay import Relay, TooManySockets

logger = logging.getLogger(__name__)

FRAMES_PER_SECOND = 20


class RateLimited(PacaError):
    """At most 20 frames a second; this one was not carried out. Send it again in a moment."""

    code = "rate_limited"
    status = 429


class TokenBucket:
    """A bucket of 20 tokens that is refilled with 20 tokens a second."""

    def __init__(self) -> None:
        self._tokens = float(FRAMES_PER_SECOND)
        self._refilled_at = clock.monotonic()

    def take(self) -> None:
        """Take one token. Raises ``RateLimited`` if the bucket is empty."""
        now = clock.monotonic()
        refill = (now - self._refilled_at) * FRAMES_PER_SECOND
        self._tokens = min(self._tokens + refill, float(FRAMES_PER_SECOND))
        self._refilled_at = now
        if self._tokens < 1:
            raise RateLimited
        self._tokens -= 1


class ClientDisconnected(Exception):
    """The client has closed its connection; nothing can be sent to it."""


class Consumer(ABC):
    """The base of both sockets. A socket has three tasks, which all end with it: the first executes
    the client's commands, the second delivers, the third checks the client's access again and again.
    """

    accepted: ClassVar[dict[str, str]]
    access_check_seconds: ClassVar[float] = 30.0

    def __init__(self, scope: Scope, receive: Any, send: Any) -> None:
        self.scope = scope
        self.relay: Relay = scope["state"]["relay"]
        self.id: UUID = scope["url_route"]["kwargs"]["id"]
        self.credential = Credential()
        self.check_access_now = asyncio.Event()
        self._rate_limit = TokenBucket()
        self._receive = receive
        self._send = send

    @classmethod
    def as_asgi(cls) -> Callable[[Scope, Any, Any], Any]:
        """The ASGI application: one consumer for each socket."""

        async def application(scope: Scope, receive: Any, send: Any) -> None:
            await cls(scope, receive, send).run()

        return application

    async def run(self) -> None:
        """Accept the socket, serve it and close it.

        It is accepted before anything is checked: a page can read a close code only then.
        """
        await self._receive()
        await self._send({"type": "websocket.accept"})
        try:
            await self.serve()
        except* ClientDisconnected:
            pass
        except* CloseSocket as group:
            closing = group.exceptions[0]
            assert isinstance(closing, CloseSocket)
            await self.close(closing.code, closing.reason)
        except* DatabaseError:
            # The page comes back with its last number and misses nothing.
            logger.exception("a socket lost the database", extra={"socket": self.scope["path"]})
            await self.close(CloseCode.RESTART, "The server could not read its database.")

    async def serve(self) -> None:
        """Authorize the client, subscribe to hints and run the tasks until the client leaves.

        Raises ``CloseSocket``, ``ClientDisconnected`` or an error of the database.
        """
        access = await in_database(self.process_handshake)
        try:
            with self.relay.count_socket(access.principal.user.pk), self.subscribe(access):
                await self.run_tasks()
        except TooManySockets:
            reason = "You have too many pages of this server open. Close some."
            raise CloseSocket(CloseCode.TOO_MANY, reason) from None

    async def run_tasks(self) -> None:
        """Run the three tasks until the client leaves or one of them fails."""
        async with asyncio.TaskGroup() as group:
            others = [
                group.create_task(self.deliver()),
                group.create_task(self.check_access_repeatedly()),
            ]
            await self.execute_commands()
            for task in others:
                task.cancel()

    def process_handshake(self) -> SocketAccess:
        """Read the credential and authorize it. Runs in a database thread.

        Raises ``CloseSocket`` if the client may not be here or its parameters are wrong.
        """
        try:
            self.credential = credential_from(self.scope)
        except SignInNeeded as error:
            raise CloseSocket(CloseCode.SIGN_IN, error.detail) from None
        return self.authorize()

    # What each kind of socket defines:

    @abstractmethod
    def authorize(self) -> SocketAccess:
        """The client's access now. Raises ``CloseSocket`` if there is none. Runs in a database thread."""

    @contextmanager
    def subscribe(self, access: SocketAccess) -> Iterator[None]:
        """Receive the hints of this socket. Subscribe before reading: then an event may be seen twice,
        but none is missed.
        """
        topic = project_topic(access.member.project_id)
        with self.relay.subscribe(topic, self.on_project_hint):
            yield

    def on_project_hint(self, hint: EventsCommitted | LiveFrame | HintsLost) -> None:
        """Check the access at once if the project's members may have changed."""
        if isinstance(hint, HintsLost) or _changes_members(hint):
            self.check_access_now.set()

    @abstractmethod
    async def deliver(self) -> None:
        """Send what happens to the client, until the task is cancelled."""

    @abstractmethod
    async def execute_command(self, command: Command) -> Frame:
        """Execute a command and give the answer. Raises a ``PacaError`` or ``CloseSocket``."""

    # Access checks, commands and sending are the same for both sockets:

    async def check_access_repeatedly(self) -> None:
        """Check every 30 seconds, and at once when the project's members change."""
        while True:
            try:
                async with asyncio.timeout(self.access_check_seconds):
                    await self.check_access_now.wait()
            except TimeoutError:
                pass
            self.check_access_now.clear()
            await in_database(self.authorize)

    async def execute_commands(self) -> None:
        """Execute one command after the other until the client leaves."""
        while (message := await self._receive())["type"] == "websocket.receive":
            await self.send_frame(await self.handle_message(message))

    async def handle_message(self, message: Frame) -> Frame:
        """The answer to a received message. Raises ``CloseSocket`` if the client has lost its access."""
        client_id = protocol.find_client_id(message)
        try:
            self._rate_limit.take()
            return await self.execute_command(protocol.parse(message, self.accepted))
        except PacaError as error:
            return protocol.error(error, client_id)
        except CloseSocket:
            raise
        except database_errors.UNAVAILABLE_ERRORS as error:
            logger.exception("a command failed", extra={"socket": self.scope["path"]})
            return protocol.error(database_errors.to_paca_error(error), client_id)
        except Exception:
            # Any other error of a command is an error frame, and the socket stays open.
            logger.exception("a command failed", extra={"socket": self.scope["path"]})
            return protocol.error(protocol.InternalError(), client_id)

    async def send_frame(self, frame: Frame) -> None:
        """Send one frame. Raises like ``send_text``."""
        await self.send_text(protocol.encode(frame))

    async def send_text(self, text: str) -> None:
        """Send one encoded frame.

        Raises ``CloseSocket`` if the client reads nothing for 10 seconds, and
        ``ClientDisconnected`` if it has left.
        """
        try:
            await self._send({"type": "websocket.send", "text": text})
        except TimeoutError:
            reason = "The page did not read; it may come back."
            raise CloseSocket(CloseCode.TOO_SLOW, reason) from None
        except OSError:
            raise ClientDisconnected from None

    async def close(self, code: CloseCode, reason: str) -> None:
        """Close the socket with a code. Only the first 123 bytes of the reason are sent."""
        try:
            await self._send(
                {"type": "websocket.close", "code": int(code), "reason": truncate_utf8(reason, 123)}
            )
        except OSError:
            logger.debug("the client had left before the socket was closed")


def _changes_members(hint: EventsCommitted | LiveFrame) -> bool:
    return isinstance(hint, LiveFrame) and hint.frame.get("type") in protocol.MEMBERSHIP_CHANGES
