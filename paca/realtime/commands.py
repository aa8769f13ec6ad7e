"""Executes the commands of a conversation's socket: each calls the service of the same name."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from paca.common.errors import Conflict
from paca.conversations import services
from paca.realtime.access import ConversationAccess, authorize_conversation
from paca.realtime.credentials import Credential
from paca.realtime.protocol import COMMANDS, Command, InterruptCommand, MessageCommand


def execute(credential: Credential, conversation_id: UUID, command: Command) -> dict[str, Any]:
    """Check the permission, execute the command and give the facts for its ``ack`` frame.

    Raises ``CloseSocket`` if the socket may no longer be open, or the ``PacaError`` of the service.
    """
    access = authorize_conversation(credential, conversation_id)
    access.require(COMMANDS[command.type])
    return _HANDLERS[command.type](access, command)


def _message(access: ConversationAccess, command: MessageCommand) -> dict[str, Any]:
    return _send(access, command.text, command.on_busy, command.client_id)


def _interrupt(access: ConversationAccess, command: InterruptCommand) -> dict[str, Any]:
    return _send(access, command.text, "interrupt", command.client_id)


def _send(access: ConversationAccess, text: str, on_busy: str, client_id: str) -> dict[str, Any]:
    sent = services.send(
        access.conversation, text=text, by=access.member, on_busy=on_busy, client_id=client_id
    )
    return {
        "conversation": str(sent.conversation_id),
        "turn": sent.turn,
        "event_seq": sent.event_seq,
        "duplicate": sent.duplicate,
    }


def _stop(access: ConversationAccess, _command: Command) -> dict[str, Any]:
    services.stop(access.conversation, by=access.member)
    return {}


def _pause(access: ConversationAccess, _command: Command) -> dict[str, Any]:
    services.pause(access.conversation, by=access.member)
    return {}


def _resume(access: ConversationAccess, _command: Command) -> dict[str, Any]:
    services.resume(access.conversation, by=access.member)
    return {}


def _continue(access: ConversationAccess, _command: Command) -> dict[str, Any]:
    services.continue_(access.conversation, by=access.member)
    return {}


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
    "stop": _stop,
    "pause": _pause,
    "resume": _resume,
    "continue": _continue,
    "clear": _clear,
    "ping": _ping,
}
