"""The two sockets of a page: the events of a conversation, and the changes of a project."""

import asyncio
import functools
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from uuid import UUID

from django.db import Error as DatabaseError

from paca.bus.base import EventsCommitted, HintsLost, LiveFrame, project_topic
from paca.common import database_errors
from paca.common.errors import PacaError
from paca.common.text import truncate_utf8
from paca.conversations.api.serializers import ConversationSerializer
from paca.realtime import commands, protocol
from paca.realtime.access import (
    CloseSocket,
    ConversationAccess,
    SocketAccess,
    authorize_conversation,
    authorize_project,
)
from paca.realtime.credentials import Credential, SignInNeeded, credential_from
from paca.realtime.database import in_database, latest_seqs, read_latest_seqs
from paca.realtime.delivery import Delivery
from paca.realtime.handshake import Scope, query_parameter
from paca.realtime.live_text import Frame
from paca.realtime.protocol import BadFrame, CloseCode, Command
from paca.realtime.rate_limit import TokenBucket
from paca.realtime.relay import Relay, TooManySockets

logger = logging.getLogger(__name__)

MAX_PENDING_CHANGES = 1000


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
        """Authorize the client, subscribe to hints and run the tasks until the client leaves."""
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
        client_id = ""
        try:
            self._rate_limit.take()
            command = protocol.parse(message, self.accepted)
            client_id = command.client_id
            return await self.execute_command(command)
        except BadFrame as error:
            return protocol.error(error, error.client_id)
        except PacaError as error:
            return protocol.error(error, client_id)
        except CloseSocket:
            raise
        except database_errors.UNAVAILABLE_ERRORS as error:
            logger.exception("a command failed", extra={"socket": self.scope["path"]})
            return protocol.error(database_errors.to_paca_error(error), client_id)
        except (
            Exception
        ):  # any other error of a command is an error frame, and the socket stays open
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


class ConversationConsumer(Consumer):
    """``/ws/conversations/<id>/?after=<seq>``: exactly the events above ``after``, and live text."""

    accepted = protocol.COMMANDS

    def __init__(self, scope: Scope, receive: Any, send: Any) -> None:
        super().__init__(scope, receive, send)
        self.delivery = Delivery(
            read=functools.partial(self.relay.events_after, self.id),
            send=self.send_text,
            request_live_text=functools.partial(self.relay.request_live_text, self.id),
        )

    def process_handshake(self) -> SocketAccess:
        access = super().process_handshake()
        try:
            after = protocol.parse_after(query_parameter(self.scope, "after"))
        except BadFrame as error:
            raise CloseSocket(CloseCode.NOT_FOUND, error.detail) from None
        # After a restore from a backup a page may know more events than the log has. The `ready`
        # frame tells it the log's number.
        self.delivery.sent_seq = min(after, read_latest_seqs([self.id])[self.id])
        return access

    def authorize(self) -> ConversationAccess:
        return authorize_conversation(self.credential, self.id)

    def describe(self) -> Frame:
        """The conversation as it is now. Raises ``CloseSocket``. Runs in a database thread."""
        return ConversationSerializer(self.authorize().conversation).data

    @contextmanager
    def subscribe(self, access: SocketAccess) -> Iterator[None]:
        # guard: realtime-watch-before-replay
        with super().subscribe(access), self.relay.watch(self.id, self.delivery.on_hint):
            yield

    async def deliver(self) -> None:
        # The subscription is already there: an event that is stored after this read is announced.
        latest = await latest_seqs([self.id])
        await self.delivery.catch_up(latest[self.id])
        conversation = await in_database(self.describe)
        facts = {"seq": self.delivery.sent_seq, "conversation": conversation}
        await self.send_frame(protocol.ready(facts))
        await self.delivery.follow()

    async def execute_command(self, command: Command) -> Frame:
        facts = await in_database(commands.execute, self.credential, self.id, command)
        return protocol.pong(command) if command.type == "ping" else protocol.ack(command, facts)


class ProjectConsumer(Consumer):
    """``/ws/projects/<id>/``: names the objects that have changed; the page fetches them again."""

    accepted = protocol.PROJECT_COMMANDS

    def __init__(self, scope: Scope, receive: Any, send: Any) -> None:
        super().__init__(scope, receive, send)
        self.pending_changes: dict[tuple[str, str], Frame] = {}
        self.hint_received = asyncio.Event()
        self.is_ready = False

    def authorize(self) -> SocketAccess:
        return authorize_project(self.credential, self.id)

    def on_project_hint(self, hint: EventsCommitted | LiveFrame | HintsLost) -> None:
        super().on_project_hint(hint)
        if isinstance(hint, LiveFrame):  # of two changes of one object only the later matters
            key = str(hint.frame.get("type")), str(hint.frame.get("id"))
            self.pending_changes[key] = hint.frame
        elif isinstance(hint, HintsLost):
            self.is_ready = False
        self.hint_received.set()

    async def deliver(self) -> None:
        while True:
            # A page fetches everything on `ready`. It is also sent after hints were lost.
            if not self.is_ready:
                self.is_ready = True
                await self.send_frame(protocol.ready({"project": str(self.id)}))
            await self.hint_received.wait()
            self.hint_received.clear()
            if len(self.pending_changes) > MAX_PENDING_CHANGES:
                reason = "Too much has changed; fetch everything again."
                raise CloseSocket(CloseCode.TOO_SLOW, reason)
            changes, self.pending_changes = self.pending_changes, {}
            for frame in changes.values():
                await self.send_frame(frame)

    async def execute_command(self, command: Command) -> Frame:
        await in_database(self.authorize)
        return protocol.pong(command)


def _changes_members(hint: EventsCommitted | LiveFrame) -> bool:
    return isinstance(hint, LiveFrame) and hint.frame.get("type") in protocol.MEMBERSHIP_CHANGES
