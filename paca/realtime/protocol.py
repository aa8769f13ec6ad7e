"""What a browser may send, and the frames it is answered with."""

import json
from enum import IntEnum
from typing import Annotated, Any, Literal

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from paca.common.errors import PacaError

FRAME_LIMIT_BYTES = 256 * 1024

# Each command and the right it needs. Reading is needed for the socket itself.
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

# Frames of a project after which a visitor may have lost the right to be here.
MEMBERSHIP_CHANGES = frozenset({"member.changed", "role.changed"})


class Close(IntEnum):
    """Why a socket was closed. A page does not come back by itself after the first three."""

    SIGN_IN = 4401
    NO_RIGHT = 4403
    NOT_THERE = 4404
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


class Internal(PacaError):
    """The server failed at this; it has been logged. Nothing may have happened: look before repeating."""

    code = "internal"
    status = 500


def after(text: str) -> int:
    """The number above which rows are wanted; empty: all. Raises ``BadFrame``."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise BadFrame("invalid", "after must be a whole number, 0 or more.")
    return int(text)


# --- commands -------------------------------------------------------------------------------------

ClientId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,100}$")]


class Command(BaseModel):
    """A frame of a browser. ``client_id`` is its own name for it: sent twice, it counts once."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    type: str
    client_id: ClientId


class Message(Command):
    """Write to the agent; ``on_busy`` says what happens while it works."""

    text: str
    on_busy: Literal["queue", "interrupt", "reject"] = "queue"


class Interrupt(Command):
    """Cut the turn short and begin the next one with this text."""

    text: str


class Ping(Command):
    """Is anybody there? The only frame that needs no name."""

    client_id: ClientId | Literal[""] = ""


_SHAPES: dict[str, type[Command]] = {"message": Message, "interrupt": Interrupt, "ping": Ping}


def parse(frame: dict[str, Any], accepted: dict[str, str]) -> Command:
    """The command in a received frame. Raises ``BadFrame``, with the ``client_id`` if it has one."""
    found = _object(frame)
    client_id = _client_id(found)
    name = found.get("type")
    if not isinstance(name, str) or name not in accepted:
        known = ", ".join(accepted)
        raise BadFrame("unknown_command", f"type must be one of {known}.", client_id)
    try:
        return _SHAPES.get(name, Command).model_validate(found)
    except ValidationError as error:
        raise BadFrame("invalid", _sentence(error), client_id) from None


def _object(frame: dict[str, Any]) -> dict[str, Any]:
    text = frame.get("text")
    if text is None:
        raise BadFrame("binary_frame", "Send text frames; this one is binary.")
    if len(text) > FRAME_LIMIT_BYTES or len(text.encode()) > FRAME_LIMIT_BYTES:
        raise BadFrame("too_large", "A frame holds at most 256 KiB.")
    try:
        # This parser bounds the depth by itself and refuses half of a surrogate pair.
        found = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise BadFrame("bad_json", f"This is no JSON: {error}.") from None
    if not isinstance(found, dict):
        raise BadFrame("invalid", "A frame is a JSON object.")
    return found


def _client_id(found: dict[str, Any]) -> str:
    """The sender's name for a frame that may be wrong in any other way, so that it can be told."""
    client_id = found.get("client_id")
    return client_id if isinstance(client_id, str) and len(client_id) <= 100 else ""


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}." if where else f"{first['msg']}."


# --- answers --------------------------------------------------------------------------------------


def ack(command: Command, facts: dict[str, Any]) -> dict[str, Any]:
    """The command was carried out, or had been before."""
    return {"type": "ack", "client_id": command.client_id, "command": command.type, **facts}


def pong(command: Command) -> dict[str, Any]:
    """Somebody is there."""
    return {"type": "pong", "client_id": command.client_id}


def error(problem: PacaError, client_id: str) -> dict[str, Any]:
    """The command was not carried out; the socket stays."""
    return {
        "type": "error",
        "client_id": client_id,
        "code": problem.code,
        "detail": problem.detail,
    }


def ready(facts: dict[str, Any]) -> dict[str, Any]:
    """Everything up to here has been said; what follows is new."""
    return {"type": "ready", **facts}


def encode(frame: dict[str, Any]) -> str:
    """A frame as text that every browser takes: no half of a surrogate pair."""
    text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
