"""The two sockets of a page: the events and commands of a conversation, and the changes of a project."""

import asyncio
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.utils import timezone

from paca.bus.base import EventsCommitted, HintsLost, LiveFrame, person_topic
from paca.common.errors import Conflict
from paca.conversations import selectors, services
from paca.conversations.api.serializers import conversation_object
from paca.conversations.services import approvals, background, plans, questions
from paca.projects import permissions
from paca.realtime import protocol
from paca.realtime.access import (
    CloseSocket,
    ConversationAccess,
    Credential,
    SocketAccess,
    authorize_conversation,
    authorize_project,
)
from paca.realtime.base_consumer import Consumer
from paca.realtime.database import in_database, latest_seqs, read_latest_seqs
from paca.realtime.delivery import Delivery
from paca.realtime.handshake import Scope, query_parameter
from paca.realtime.live_text import Frame
from paca.realtime.protocol import (
    COMMANDS,
    AnswerCommand,
    ApproveCommand,
    BadFrame,
    CloseCode,
    Command,
    EditCommand,
    FlagsCommand,
    InterruptCommand,
    MessageCommand,
    PlanCommand,
    StopBackgroundCommand,
    WithdrawCommand,
)

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
        """The member whose socket it is, the conversation as it is now, and the turn that runs.

        Runs in a database thread. Raises ``CloseSocket``.
        """
        access = self.authorize()
        conversation = access.conversation
        return {
            "member": str(access.member.pk),
            "conversation": conversation_object(conversation),
            "turn": selectors.running_turn(conversation),
        }

    @contextmanager
    def subscribe(self, access: SocketAccess) -> Iterator[None]:
        # guard: realtime-watch-before-replay
        with super().subscribe(access), self.relay.watch(self.id, self.delivery.on_hint):
            yield

    async def deliver(self) -> None:
        # The subscription is already there: an event that is stored after this read is announced.
        latest = await latest_seqs([self.id])
        await self.delivery.catch_up(latest[self.id])
        described = await in_database(self.describe)
        facts = {
            "seq": self.delivery.sent_seq,
            "at": timezone.now().isoformat(),  # a page shows running times by the server's clock
            **described,
        }
        await self.send_frame(protocol.ready(facts))
        await self.delivery.follow()

    async def execute_command(self, command: Command) -> Frame:
        facts = await in_database(execute, self.credential, self.id, command)
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

    @contextmanager
    def subscribe(self, access: SocketAccess) -> Iterator[None]:
        # The person's notifications are told on each of their pages, and to nobody else.
        own = person_topic(access.principal.user.pk)
        with super().subscribe(access), self.relay.subscribe(own, self.on_project_hint):
            yield

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


# --- commands: each calls the service of the same name ----------------------------------------------


def execute(credential: Credential, conversation_id: UUID, command: Command) -> dict[str, Any]:
    """Check the permission, execute the command and give the facts for its ``ack`` frame.

    Raises ``CloseSocket`` if the socket may no longer be open, or the ``PacaError`` of the service.
    """
    access = authorize_conversation(credential, conversation_id)
    access.require(COMMANDS[command.type])
    return _HANDLERS[command.type](access, command)


def _message(access: ConversationAccess, command: MessageCommand) -> dict[str, Any]:
    return _send(access, command, command.on_busy)


def _interrupt(access: ConversationAccess, command: InterruptCommand) -> dict[str, Any]:
    return _send(access, command, "interrupt")


def _send(
    access: ConversationAccess, command: MessageCommand | InterruptCommand, on_busy: str
) -> dict[str, Any]:
    sent = services.send(
        access.conversation,
        text=command.text,
        by=access.member,
        on_busy=on_busy,
        client_id=command.client_id,
        effort=command.effort,
        attachments=command.attachments,
    )
    return {
        "conversation": str(sent.conversation_id),
        "turn": sent.turn,
        "event_seq": sent.event_seq,
        "duplicate": sent.duplicate,
    }


def _edit(access: ConversationAccess, command: EditCommand) -> dict[str, Any]:
    services.edit(
        access.conversation, event_seq=command.event_seq, text=command.text, by=access.member
    )
    return {"event_seq": command.event_seq}


def _withdraw(access: ConversationAccess, command: WithdrawCommand) -> dict[str, Any]:
    services.withdraw(access.conversation, event_seq=command.event_seq, by=access.member)
    return {"event_seq": command.event_seq}


def _stop(access: ConversationAccess, _command: Command) -> dict[str, Any]:
    services.stop(access.conversation, by=access.member)
    return {}


def _pause(access: ConversationAccess, _command: Command) -> dict[str, Any]:
    services.pause(access.conversation, by=access.member)
    return {}


def _resume(access: ConversationAccess, _command: Command) -> dict[str, Any]:
    services.resume(access.conversation, by=access.member)
    return {}


def _continue(access: ConversationAccess, command: Command) -> dict[str, Any]:
    # A page sends a command again if the connection was lost before its answer.
    key = command.client_id
    services.continue_(access.conversation, by=access.member, source="page", key=key)
    return {}


def _approve(access: ConversationAccess, command: ApproveCommand) -> dict[str, Any]:
    decided = approvals.decide(
        access.conversation,
        call_id=command.call_id,
        decision=command.decision,
        arguments=command.arguments,
        reason=command.reason,
        by=access.member,
    )
    return {"call_id": decided.call_id, "state": decided.state}


def _plan(access: ConversationAccess, command: PlanCommand) -> dict[str, Any]:
    decided = plans.decide(
        access.conversation,
        call_id=command.call_id,
        decision=command.decision,
        feedback=command.feedback,
        steps=command.steps,
        by=access.member,
    )
    return {"call_id": decided.call_id, "state": decided.state}


def _answer(access: ConversationAccess, command: AnswerCommand) -> dict[str, Any]:
    answered = questions.answer(
        access.conversation, question_id=command.question_id, text=command.text, by=access.member
    )
    return {"question_id": answered.call_id, "state": answered.state}


def _flags(access: ConversationAccess, command: FlagsCommand) -> dict[str, Any]:
    if command.plan is False:  # it gives the agent its tools, as an approval does
        access.require(permissions.APPROVE)
    services.set_flags(
        access.conversation,
        tracing=command.tracing,
        plan=command.plan,
        teams=command.teams,
        by=access.member,
    )
    current = selectors.get_by_id(access.conversation.pk)
    flags = {"tracing": current.is_traced, "plan": bool(current.plan_mode)}
    return {**flags, "teams": current.leads_team}


def _stop_background(access: ConversationAccess, command: StopBackgroundCommand) -> dict[str, Any]:
    stopped = background.stop(access.conversation, call_id=command.call_id, by=access.member)
    return {"call_id": stopped.pk.hex, "state": stopped.shown_state}


def _clear(access: ConversationAccess, _command: Command) -> dict[str, Any]:
    session = access.conversation.session
    if session is None:
        raise Conflict("This conversation belongs to no chat; there is nothing to clear.")
    # The command was sent twice, or from a tab that still shows the closed conversation: the answer
    # is the conversation that is open now.
    if session.conversation_id not in (None, access.conversation.pk):
        return {"conversation": str(session.conversation_id), "duplicate": True}
    opened = services.clear(session, by=access.member)
    return {"conversation": str(opened.pk), "duplicate": False}


def _ping(_access: ConversationAccess, _command: Command) -> dict[str, Any]:
    return {}


_HANDLERS: dict[str, Callable[[ConversationAccess, Any], dict[str, Any]]] = {
    "message": _message,
    "interrupt": _interrupt,
    "edit": _edit,
    "withdraw": _withdraw,
    "stop": _stop,
    "pause": _pause,
    "resume": _resume,
    "continue": _continue,
    "clear": _clear,
    "approve": _approve,
    "plan": _plan,
    "answer": _answer,
    "flags": _flags,
    "stop_background": _stop_background,
    "ping": _ping,
}
