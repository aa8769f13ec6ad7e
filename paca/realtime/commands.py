"""What each command of a conversation's socket does: it calls the service of the same name."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from paca.common.errors import Conflict
from paca.conversations import services
from paca.realtime import access
from paca.realtime.access import ConversationStanding
from paca.realtime.credentials import Credential
from paca.realtime.protocol import COMMANDS, Command, Interrupt, Message


def carry_out(credential: Credential, conversation_id: UUID, command: Command) -> dict[str, Any]:
    """Check the right, do it, and say what came of it. Raises ``Refused`` or a ``PacaError``."""
    standing = access.to_conversation(credential, conversation_id)
    standing.demand(COMMANDS[command.type])
    return _ACTS[command.type](standing, command)


def _message(standing: ConversationStanding, command: Message) -> dict[str, Any]:
    return _send(standing, command.text, command.on_busy, command.client_id)


def _interrupt(standing: ConversationStanding, command: Interrupt) -> dict[str, Any]:
    return _send(standing, command.text, "interrupt", command.client_id)


def _send(
    standing: ConversationStanding, text: str, on_busy: str, client_id: str
) -> dict[str, Any]:
    sent = services.send(
        standing.conversation, text=text, by=standing.member, on_busy=on_busy, client_id=client_id
    )
    return {
        "conversation": str(sent.conversation_id),
        "turn": sent.turn,
        "event_seq": sent.event_seq,
        "duplicate": sent.duplicate,
    }


def _stop(standing: ConversationStanding, _command: Command) -> dict[str, Any]:
    services.stop(standing.conversation, by=standing.member)
    return {}


def _pause(standing: ConversationStanding, _command: Command) -> dict[str, Any]:
    services.pause(standing.conversation, by=standing.member)
    return {}


def _resume(standing: ConversationStanding, _command: Command) -> dict[str, Any]:
    services.resume(standing.conversation, by=standing.member)
    return {}


def _continue(standing: ConversationStanding, _command: Command) -> dict[str, Any]:
    services.continue_(standing.conversation, by=standing.member)
    return {}


def _clear(standing: ConversationStanding, _command: Command) -> dict[str, Any]:
    session = standing.conversation.session
    if session is None:
        raise Conflict("This conversation belongs to no chat; there is nothing to clear.")
    # Sent twice, or from a tab that still shows the closed conversation: the open one is the answer.
    if session.conversation_id not in (None, standing.conversation.pk):
        return {"conversation": str(session.conversation_id), "duplicate": True}
    opened = services.clear(session, by=standing.member)
    return {"conversation": str(opened.pk), "duplicate": False}


def _ping(_standing: ConversationStanding, _command: Command) -> dict[str, Any]:
    return {}


_ACTS: dict[str, Callable[[ConversationStanding, Any], dict[str, Any]]] = {
    "message": _message,
    "interrupt": _interrupt,
    "stop": _stop,
    "pause": _pause,
    "resume": _resume,
    "continue": _continue,
    "clear": _clear,
    "ping": _ping,
}
