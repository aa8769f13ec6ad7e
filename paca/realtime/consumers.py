"""The two sockets of a page: the events of a conversation, and the changes of a project."""

import asyncio
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from paca.bus.base import EventsCommitted, HintsLost, LiveFrame
from paca.conversations.api.serializers import conversation_object
from paca.realtime import commands, protocol
from paca.realtime.access import (
    CloseSocket,
    ConversationAccess,
    SocketAccess,
    authorize_conversation,
    authorize_project,
)
from paca.realtime.base_consumer import Consumer
from paca.realtime.database import in_database, latest_seqs, read_latest_seqs
from paca.realtime.delivery import Delivery
from paca.realtime.handshake import Scope, query_parameter
from paca.realtime.live_text import Frame
from paca.realtime.protocol import BadFrame, CloseCode, Command

MAX_PENDING_CHANGES = 1000


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
        """Authorize the socket and find where to start. Raises ``CloseSocket`` if ``after`` is malformed."""
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
        return conversation_object(self.authorize().conversation)

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
        """Send each change of the project. Raises ``CloseSocket`` if too many changes are pending."""
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
