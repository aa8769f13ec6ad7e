"""The two sockets of a page: a conversation, event by event, and the changes of a project."""

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
from paca.conversations import selectors
from paca.realtime import access, commands, credentials, protocol
from paca.realtime.access import Refused, Standing
from paca.realtime.credentials import Credential, SignInNeeded
from paca.realtime.database import in_database, newest_now, newest_of
from paca.realtime.delivery import Delivery
from paca.realtime.handshake import Scope, query
from paca.realtime.live_text import Frame
from paca.realtime.protocol import BadFrame, Close, Command
from paca.realtime.rate_limit import Allowance
from paca.realtime.relay import Relay, TooManySockets

logger = logging.getLogger(__name__)

MOST_CHANGES_WAITING = 1000


class Gone(Exception):
    """The visitor has left; there is nobody to tell."""


class Consumer(ABC):
    """What both sockets share. Three tasks, all ended with the socket: one obeys the visitor, one
    delivers to them, one asks again and again whether they may still be here.
    """

    accepted: ClassVar[dict[str, str]]
    check_seconds: ClassVar[float] = 30.0

    def __init__(self, scope: Scope, receive: Any, send: Any) -> None:
        self.scope = scope
        self.relay: Relay = scope["state"]["relay"]
        self.id: UUID = scope["url_route"]["kwargs"]["id"]
        self.credential = Credential()
        self.doubt = asyncio.Event()
        self._allowance = Allowance()
        self._receive = receive
        self._send = send

    @classmethod
    def as_asgi(cls) -> Callable[[Scope, Any, Any], Any]:
        """The ASGI application: one consumer for each socket."""

        async def application(scope: Scope, receive: Any, send: Any) -> None:
            await cls(scope, receive, send).run()

        return application

    async def run(self) -> None:
        """The whole life of the socket. It is accepted first: only then can a page read a code."""
        await self._receive()
        await self._send({"type": "websocket.accept"})
        try:
            await self.serve()
        except* Gone:
            pass
        except* Refused as refusals:
            refusal = refusals.exceptions[0]
            assert isinstance(refusal, Refused)
            await self.close(refusal.code, refusal.reason)
        except* DatabaseError:
            # The page comes back with its last number and misses nothing.
            logger.exception("a socket lost the database", extra={"socket": self.scope["path"]})
            await self.close(Close.RESTART, "The server could not read its database.")

    async def serve(self) -> None:
        """Let the visitor in and stay until they leave."""
        standing = await in_database(self.enter)
        try:
            with self.relay.seat(standing.visitor.user.pk), self.join(standing):
                await self.converse()
        except TooManySockets:
            reason = "You have too many pages of this server open. Close some."
            raise Refused(Close.TOO_MANY, reason) from None

    async def converse(self) -> None:
        """Obey, deliver and keep checking, until the visitor leaves or one of the three fails."""
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(self.deliver()), group.create_task(self.keep_checking())]
            await self.obey()
            for task in others:
                task.cancel()

    def enter(self) -> Standing:
        """Who it is and what they may do here. Raises ``Refused``. Runs in a database thread."""
        try:
            self.credential = credentials.presented(self.scope)
        except SignInNeeded as error:
            raise Refused(Close.SIGN_IN, error.detail) from None
        return self.stand()

    # What a kind of socket adds:

    @abstractmethod
    def stand(self) -> Standing:
        """What the visitor may do here now. Raises ``Refused``. Runs in a database thread."""

    @contextmanager
    def join(self, standing: Standing) -> Iterator[None]:
        """Hear what concerns this socket. Before anything is read: seen twice is better than never."""
        with self.relay.join(project_topic(standing.member.project_id), self.hear_project):
            yield

    def hear_project(self, hint: EventsCommitted | LiveFrame | HintsLost) -> None:
        """Something in the project has changed, or may have: perhaps who may be here."""
        if isinstance(hint, HintsLost) or _changes_members(hint):
            self.doubt.set()

    @abstractmethod
    async def deliver(self) -> None:
        """Tell the visitor what happens, for ever."""

    @abstractmethod
    async def carry_out(self, command: Command) -> Frame:
        """Do what the visitor asks and answer. Raises a ``PacaError`` or ``Refused``."""

    # Permission, commands and sending are the same for all:

    async def keep_checking(self) -> None:
        """Every 30 seconds, and at once when the project's members change."""
        while True:
            try:
                async with asyncio.timeout(self.check_seconds):
                    await self.doubt.wait()
            except TimeoutError:
                pass
            self.doubt.clear()
            await in_database(self.stand)

    async def obey(self) -> None:
        """Carry out one command after the other until the visitor leaves."""
        while (frame := await self._receive())["type"] == "websocket.receive":
            await self.say(await self.answer(frame))

    async def answer(self, frame: Frame) -> Frame:
        """What the visitor hears on this frame. Only losing the right to be here ends the socket."""
        client_id = ""
        try:
            self._allowance.spend()
            command = protocol.parse(frame, self.accepted)
            client_id = command.client_id
            return await self.carry_out(command)
        except BadFrame as problem:
            return protocol.error(problem, problem.client_id)
        except PacaError as problem:
            return protocol.error(problem, client_id)
        except Refused:
            raise
        except database_errors.UNAVAILABLE_ERRORS as fault:
            logger.exception("a command failed", extra={"socket": self.scope["path"]})
            return protocol.error(database_errors.to_paca_error(fault), client_id)
        except Exception:  # whatever a command breaks on, it is an error frame and the socket stays
            logger.exception("a command failed", extra={"socket": self.scope["path"]})
            return protocol.error(protocol.Internal(), client_id)

    async def say(self, frame: Frame) -> None:
        """Send one frame."""
        await self.send_text(protocol.encode(frame))

    async def send_text(self, text: str) -> None:
        """Send a frame written out. A visitor who takes nothing for 10 seconds is let go."""
        try:
            await self._send({"type": "websocket.send", "text": text})
        except TimeoutError:
            raise Refused(Close.TOO_SLOW, "The page did not read; it may come back.") from None
        except OSError:
            raise Gone from None

    async def close(self, code: Close, reason: str) -> None:
        """End the socket with a code; a reason holds at most 123 bytes."""
        brief = reason.encode()[:123].decode(errors="ignore")
        try:
            await self._send({"type": "websocket.close", "code": int(code), "reason": brief})
        except OSError:
            logger.debug("the visitor had left before the socket was closed")


class ConversationConsumer(Consumer):
    """``/ws/conversations/<id>/?after=<seq>``: exactly the rows above ``after``, and live text."""

    accepted = protocol.COMMANDS

    def __init__(self, scope: Scope, receive: Any, send: Any) -> None:
        super().__init__(scope, receive, send)
        self.delivery = Delivery(
            read=functools.partial(self.relay.rows_after, self.id),
            say=self.send_text,
            say_again=functools.partial(self.relay.say_again, self.id),
        )

    def enter(self) -> Standing:
        standing = super().enter()
        try:
            after = protocol.after(query(self.scope, "after"))
        except BadFrame as problem:
            raise Refused(Close.NOT_THERE, problem.detail) from None
        # A page may know more than a log that came back from a backup; `ready` tells it the number.
        self.delivery.sent = min(after, newest_now([self.id])[self.id])
        return standing

    def stand(self) -> access.ConversationStanding:
        return access.to_conversation(self.credential, self.id)

    def describe(self) -> Frame:
        """The conversation as it is now. Raises ``Refused``. Runs in a database thread."""
        return selectors.describe(self.stand().conversation)

    @contextmanager
    def join(self, standing: Standing) -> Iterator[None]:
        # guard: realtime-watch-before-replay
        with super().join(standing), self.relay.watch(self.id, self.delivery.hear):
            yield

    async def deliver(self) -> None:
        # Asked now that we hear what comes after it.
        newest = await newest_of([self.id])
        await self.delivery.catch_up(newest[self.id])
        conversation = await in_database(self.describe)
        await self.say(protocol.ready({"seq": self.delivery.sent, "conversation": conversation}))
        await self.delivery.follow()

    async def carry_out(self, command: Command) -> Frame:
        facts = await in_database(commands.carry_out, self.credential, self.id, command)
        return protocol.pong(command) if command.type == "ping" else protocol.ack(command, facts)


class ProjectConsumer(Consumer):
    """``/ws/projects/<id>/``: which things have changed; the page fetches them again."""

    accepted = protocol.PROJECT_COMMANDS

    def __init__(self, scope: Scope, receive: Any, send: Any) -> None:
        super().__init__(scope, receive, send)
        self.changes: dict[tuple[str, str], Frame] = {}
        self.news = asyncio.Event()
        self.is_ready = False

    def stand(self) -> Standing:
        return access.to_project(self.credential, self.id)

    def hear_project(self, hint: EventsCommitted | LiveFrame | HintsLost) -> None:
        super().hear_project(hint)
        if isinstance(hint, LiveFrame):  # of two changes of the same thing only the later matters
            self.changes[str(hint.frame.get("type")), str(hint.frame.get("id"))] = hint.frame
        elif isinstance(hint, HintsLost):
            self.is_ready = False
        self.news.set()

    async def deliver(self) -> None:
        while True:
            if not self.is_ready:  # also when changes were missed: it means "fetch everything"
                self.is_ready = True
                await self.say(protocol.ready({"project": str(self.id)}))
            await self.news.wait()
            self.news.clear()
            if len(self.changes) > MOST_CHANGES_WAITING:
                raise Refused(Close.TOO_SLOW, "Too much has changed; fetch everything again.")
            changes, self.changes = self.changes, {}
            for frame in changes.values():
                await self.say(frame)

    async def carry_out(self, command: Command) -> Frame:
        await in_database(self.stand)
        return protocol.pong(command)


def _changes_members(hint: EventsCommitted | LiveFrame) -> bool:
    return isinstance(hint, LiveFrame) and hint.frame.get("type") in protocol.MEMBERSHIP_CHANGES
