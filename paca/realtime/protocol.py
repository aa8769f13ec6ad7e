"""The frames that a client may send, and the frames that answer them."""

import json
import re
from enum import IntEnum
from typing import Annotated, Any, Literal

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from paca.common.errors import PacaError
from paca.common.text import to_encodable
from paca.conversations.services import MAX_MESSAGE_CHARACTERS

# The limit of a frame without regard to its kind. The text of a message has its own limit, in
# characters: a frame is never too large for a text within it, however many bytes JSON makes of it.
MAX_FRAME_BYTES = 256 * 1024
MESSAGE_COMMANDS = frozenset({"message", "interrupt", "edit"})

# Each command and the permission it needs. The socket itself needs the permission to read.
COMMANDS: dict[str, str] = {
    "message": "conversations:write",
    "interrupt": "conversations:write",
    "edit": "conversations:write",
    "withdraw": "conversations:write",
    "stop": "conversations:write",
    "pause": "conversations:write",
    "resume": "conversations:write",
    "continue": "conversations:write",
    "clear": "conversations:write",
    "approve": "conversations:approve",
    "plan": "conversations:approve",
    "answer": "conversations:write",
    "flags": "conversations:write",
    "stop_background": "conversations:write",
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

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


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
    """A message to the agent; ``on_busy`` says what happens to it while the agent works, ``effort`` how hard it tries."""

    text: str
    on_busy: Literal["queue", "interrupt", "reject"] = "queue"
    effort: Literal["", "quick", "standard", "determined"] = ""
    attachments: list[str] = []


class InterruptCommand(Command):
    """End the running turn and begin the next one with this text."""

    text: str
    effort: Literal["", "quick", "standard", "determined"] = ""
    attachments: list[str] = []


class WithdrawCommand(Command):
    """Take back the message of the event ``event_seq``, which the agent has not read."""

    event_seq: Annotated[int, Field(ge=1, lt=2**63)]


class EditCommand(WithdrawCommand):
    """Replace the text of the message of the event ``event_seq``, which the agent has not read."""

    text: str


class ApproveCommand(Command):
    """A decision on the call ``call_id``, which waits for it. Any other decision is refused."""

    call_id: Annotated[str, Field(min_length=1, max_length=64)]
    decision: Literal["approve", "deny", "approve_rest"]
    reason: Annotated[str, Field(max_length=2_000)] = ""
    arguments: dict[str, Any] | None = None


class PlanCommand(Command):
    """A decision on the plan that waits, or on that of the call ``call_id``. ``steps`` are approved in place of its own."""

    decision: Literal["approve", "reject"]
    call_id: Annotated[str, Field(max_length=64)] = ""
    feedback: Annotated[str, Field(max_length=2_000)] = ""
    steps: list[str] | None = None


class AnswerCommand(Command):
    """An answer to the question ``question_id``: the label of a choice, or other words."""

    question_id: Annotated[str, Field(min_length=1, max_length=64)]
    text: str


class StopBackgroundCommand(Command):
    """End the background command of the call ``call_id``."""

    call_id: Annotated[str, Field(min_length=1, max_length=64)]


class FlagsCommand(Command):
    """How the conversation runs from the next turn on. A flag that is not given does not change."""

    tracing: bool | None = None
    plan: bool | None = None
    teams: bool | None = None


class PingCommand(Command):
    """Asks for a ``pong``. The only frame that needs no ``client_id``."""

    client_id: ClientId | Literal[""] = ""


_MODELS: dict[str, type[Command]] = {
    "message": MessageCommand,
    "interrupt": InterruptCommand,
    "edit": EditCommand,
    "withdraw": WithdrawCommand,
    "approve": ApproveCommand,
    "plan": PlanCommand,
    "answer": AnswerCommand,
    "flags": FlagsCommand,
    "stop_background": StopBackgroundCommand,
    "ping": PingCommand,
}


def parse(message: dict[str, Any], accepted: dict[str, str]) -> Command:
    """The command in a received ASGI message. ``accepted`` has the known command types as keys.

    Raises ``BadFrame``.
    """
    frame = _parse_object(message)
    name = frame.get("type")
    if not isinstance(name, str) or name not in accepted:
        raise BadFrame("unknown_command", f"type must be one of {', '.join(accepted)}.")
    try:
        return _MODELS.get(name, Command).model_validate(frame)
    except ValidationError as error:
        raise BadFrame("invalid", _first_error(error)) from None


def _parse_object(message: dict[str, Any]) -> dict[str, Any]:
    text = message.get("text")
    if text is None:
        raise BadFrame("binary_frame", "Send text frames; this one is binary.")
    large = len(text) > MAX_FRAME_BYTES or len(text.encode()) > MAX_FRAME_BYTES
    try:
        # This parser limits the depth of nesting and rejects lone surrogates.
        frame = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        if large:
            raise _too_large() from None
        raise BadFrame("bad_json", f"This is not JSON: {error}.") from None
    if large and not _is_allowed_message(frame):
        raise _too_large()
    if not isinstance(frame, dict):
        raise BadFrame("invalid", "A frame is a JSON object.")
    return frame


def _too_large() -> BadFrame:
    fact = f"the text of a message at most {MAX_MESSAGE_CHARACTERS:,} characters"
    return BadFrame("too_large", f"A frame holds at most 256 KiB, and {fact}.")


def _is_allowed_message(frame: Any) -> bool:
    """Whether the frame is large only because of the bytes of a text within its limit of characters."""
    if not isinstance(frame, dict) or frame.get("type") not in MESSAGE_COMMANDS:
        return False
    text = frame.get("text")
    if not isinstance(text, str) or len(text) > MAX_MESSAGE_CHARACTERS:
        return False
    return len(json.dumps({**frame, "text": ""})) <= MAX_FRAME_BYTES


_CLIENT_ID = re.compile(r'"client_id"\s*:\s*"([^"\\]{1,100})"')


def find_client_id(message: dict[str, Any]) -> str:
    """The ``client_id`` in a received message that may be wrong in any other way; empty if it has none.

    So every refusal can name the frame that it refuses.
    """
    # In a JSON text the quotes within a string are escaped, so a text about a client_id never matches.
    found = _CLIENT_ID.search(message.get("text") or "")
    return found[1] if found else ""


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
