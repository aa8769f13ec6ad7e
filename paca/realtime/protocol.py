"""The frames that a client may send, and the frames that answer them."""

import json
from enum import IntEnum
from typing import Annotated, Any, Literal

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from paca.common.errors import PacaError
from paca.common.text import to_encodable

MAX_FRAME_BYTES = 256 * 1024

# Each command and the permission it needs. The socket itself needs the permission to read.
COMMANDS: dict[str, str] = {
    "message": "conversations:write",
    "interrupt": "conversations:write",
    "stop": "conversations:write",
    "pause": "conversations:write",
    "resume": "conversations:write",
    "continue": "conversations:write",
    "clear": "conversations:write",
    "ping": "conversations:read",
}
PROJECT_COMMANDS: dict[str, str] = {"ping": "projects:read"}

# After these frames of a project a client may have lost its access.
MEMBERSHIP_CHANGES = frozenset({"member.changed", "role.changed"})


class CloseCode(IntEnum):
    """Why the server closed a socket. After the first three a page does not reconnect by itself."""

    SIGN_IN = 4401
    NOT_ALLOWED = 4403
    NOT_FOUND = 4404
    TOO_SLOW = 4408
    RESTART = 1012
    TOO_MANY = 1013


class BadFrame(PacaError):
    """This frame cannot be understood."""

    code = "invalid"

    def __init__(self, code: str, detail: str, client_id: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.client_id = client_id


class InternalError(PacaError):
    """The server failed at this; it has been logged. Nothing may have happened: look before repeating."""

    code = "internal"
    status = 500


def parse_after(text: str) -> int:
    """The ``seq`` above which events are wanted; 0 for an empty text.

    Raises ``BadFrame`` if it is no whole number.
    """
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise BadFrame("invalid", "after must be a whole number, 0 or more.")
    return int(text)


# --- commands -------------------------------------------------------------------------------------

ClientId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,100}$")]


class Command(BaseModel):
    """A frame of a client. ``client_id`` is the client's name for it: a frame sent twice counts once."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    type: str
    client_id: ClientId


class MessageCommand(Command):
    """A message to the agent; ``on_busy`` says what happens to it while the agent works."""

    text: str
    on_busy: Literal["queue", "interrupt", "reject"] = "queue"


class InterruptCommand(Command):
    """End the running turn and begin the next one with this text."""

    text: str


class PingCommand(Command):
    """Asks for a ``pong``. The only frame that needs no ``client_id``."""

    client_id: ClientId | Literal[""] = ""


_MODELS: dict[str, type[Command]] = {
    "message": MessageCommand,
    "interrupt": InterruptCommand,
    "ping": PingCommand,
}


def parse(message: dict[str, Any], accepted: dict[str, str]) -> Command:
    """The command in a received ASGI message. ``accepted`` has the known command types as keys.

    Raises ``BadFrame``, with the frame's ``client_id`` if it has one.
    """
    frame = _parse_object(message)
    client_id = _client_id(frame)
    name = frame.get("type")
    if not isinstance(name, str) or name not in accepted:
        known = ", ".join(accepted)
        raise BadFrame("unknown_command", f"type must be one of {known}.", client_id)
    try:
        return _MODELS.get(name, Command).model_validate(frame)
    except ValidationError as error:
        raise BadFrame("invalid", _first_error(error), client_id) from None


def _parse_object(message: dict[str, Any]) -> dict[str, Any]:
    text = message.get("text")
    if text is None:
        raise BadFrame("binary_frame", "Send text frames; this one is binary.")
    if len(text) > MAX_FRAME_BYTES or len(text.encode()) > MAX_FRAME_BYTES:
        raise BadFrame("too_large", "A frame holds at most 256 KiB.")
    try:
        # This parser limits the depth of nesting and rejects lone surrogates.
        frame = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise BadFrame("bad_json", f"This is not JSON: {error}.") from None
    if not isinstance(frame, dict):
        raise BadFrame("invalid", "A frame is a JSON object.")
    return frame


def _client_id(frame: dict[str, Any]) -> str:
    """The ``client_id`` of a frame that may be wrong in other ways, so that the answer can name it."""
    client_id = frame.get("client_id")
    return client_id if isinstance(client_id, str) and len(client_id) <= 100 else ""


def _first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}." if where else f"{first['msg']}."


# --- answers --------------------------------------------------------------------------------------


def ack(command: Command, facts: dict[str, Any]) -> dict[str, Any]:
    """The answer to a command that was executed now or before."""
    return {"type": "ack", "client_id": command.client_id, "command": command.type, **facts}


def pong(command: Command) -> dict[str, Any]:
    """The answer to ``ping``."""
    return {"type": "pong", "client_id": command.client_id}


def error(failure: PacaError, client_id: str) -> dict[str, Any]:
    """The answer to a command that was not executed. The socket stays open."""
    return {
        "type": "error",
        "client_id": client_id,
        "code": failure.code,
        "detail": failure.detail,
    }


def ready(facts: dict[str, Any]) -> dict[str, Any]:
    """Tells a page that it has everything up to now; the frames that follow are new."""
    return {"type": "ready", **facts}


def encode(frame: dict[str, Any]) -> str:
    """A frame as JSON text that UTF-8 can encode."""
    return to_encodable(json.dumps(frame, ensure_ascii=False, separators=(",", ":")))
