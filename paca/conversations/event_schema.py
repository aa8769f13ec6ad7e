"""The JSON Schema of events, and of what other programs read and write in Redis: types for other languages."""

import dataclasses
import types
import typing
from functools import cache
from typing import Any

from paca.conversations.models.statuses import ConversationStatus
from paca.conversations.services.messages import MAX_MESSAGE_CHARACTERS, ON_BUSY_CHOICES
from paca.events import EVENT_TYPES, Event

ADDRESS = "/api/v1/events/schema/"
TEXT = {"type": "string"}
UUID_TEXT = {"type": "string", "format": "uuid"}
NAMES_OF_TYPES: dict[Any, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
DESCRIPTION = (
    "Types of Paca's events. The document itself describes a Frame: one event, as sockets and "
    "GET .../conversations/{id}/events/ give it. EventEntry, MessageEntry, StopEntry and TriggerResult are "
    "entries of Redis streams, whose fields are all strings; Announcement is a message of the channel "
    "paca.events. A newer Paca adds types and fields: skip types that you do not know, and allow more "
    "properties. An older stored event may lack facts that have a default."
)


@cache
def document() -> dict[str, Any]:
    """The whole schema: the facts of each type of event by the name of its class, and the rest."""
    facts = {cls.__name__: facts_schema(cls) for cls in EVENT_TYPES.values()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ADDRESS,
        "title": "Paca events",
        "description": DESCRIPTION,
        "$ref": "#/$defs/Frame",
        "$defs": {**facts, "Frame": _frame(), "Announcement": _announcement(), **_stream_entries()},
    }


def facts_schema(cls: type[Event]) -> dict[str, Any]:
    """The schema of the facts of a type of event: the ``data`` of a frame, the ``payload`` of an entry."""
    hints = typing.get_type_hints(cls)
    properties, required = {}, []
    for fact in dataclasses.fields(cls):
        properties[fact.name] = _type_schema(hints[fact.name])
        if fact.default is not dataclasses.MISSING:
            properties[fact.name]["default"] = fact.default
        elif fact.default_factory is not dataclasses.MISSING:
            properties[fact.name]["default"] = fact.default_factory()
        else:
            required.append(fact.name)
    meaning = " ".join((cls.__doc__ or "").split()).replace("``", "`")
    return _object(properties, required, description=f"{cls.type}: {meaning}")


def _type_schema(hint: Any) -> dict[str, Any]:
    """The schema of a fact. Raises ``KeyError`` if the type of the fact is no JSON."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is list:
        return {"type": "array", "items": _type_schema(arguments[0])}
    if origin is dict:
        return {"type": "object"}
    if origin is types.UnionType:
        return {"type": [_type_schema(each)["type"] for each in arguments]}
    return {"type": NAMES_OF_TYPES[hint]}


def _frame() -> dict[str, Any]:
    head = {
        "type": TEXT,
        "seq": {"type": ["integer", "null"], "description": "its number in the log, null if live"},
        "at": {"type": "string", "format": "date-time"},
        "source": {
            "type": "string",
            "description": "user, agent, system, subagent:<id> or teammate:<name>",
        },
        "turn": {"type": ["integer", "null"]},
        "data": {"type": "object"},
    }
    variants = [
        {
            "title": f"{cls.__name__}Frame",
            "properties": {
                "type": {"const": name},
                "seq": {"type": "integer" if cls.durable else "null"},
                "data": {"$ref": f"#/$defs/{cls.__name__}"},
            },
        }
        for name, cls in EVENT_TYPES.items()
    ]
    frame = _object(head, list(head), description="One event.")
    return {**frame, "oneOf": variants}


def _announcement() -> dict[str, Any]:
    payload = _object(
        {"project_id": UUID_TEXT, "conversation_id": UUID_TEXT, "seq": {"type": "integer"}},
        ["project_id", "conversation_id", "seq"],
    )
    return _object(
        {"type": TEXT, "payload": payload},
        ["type", "payload"],
        description="A message of paca.events: events of the conversation up to seq are stored.",
    )


def _stream_entries() -> dict[str, Any]:
    """The entries of the streams of ``docs/other-programs.md``."""
    result = {
        "entry_id": {"type": "string", "description": "what XADD gave the program"},
        "status": {"enum": ["accepted", "refused"]},
        **dict.fromkeys(("type", "conversation_id", "client_id", "code", "reason"), TEXT),
    }
    return {
        "EventEntry": _event_entry(),
        **_trigger_entries(),
        "TriggerResult": _object(
            result, ["entry_id", "status"], description="Of paca:agent:triggers:results."
        ),
    }


def _event_entry() -> dict[str, Any]:
    properties = {
        "conversation_id": UUID_TEXT,
        "project_id": UUID_TEXT,
        "event_type": {"enum": [name for name, cls in EVENT_TYPES.items() if cls.durable]},
        "event_source": TEXT,
        "event_index": {"type": "string", "pattern": "^[1-9][0-9]*$", "description": "the seq"},
        "payload": {
            "type": "string",
            "description": "the facts as JSON text; empty if they are longer than 16 KiB",
        },
        "status": {"enum": list(ConversationStatus.values)},
    }
    if_empty = {
        "payload_bytes": {
            "type": "string",
            "pattern": "^[0-9]+$",
            "description": "if payload is empty: its size",
        },
        "payload_path": {
            "type": "string",
            "description": "if payload is empty: the address of the API that gives the event",
        },
    }
    return _object(
        {**properties, **if_empty}, list(properties), description="Of paca:agent:events."
    )


def _trigger_entries() -> dict[str, Any]:
    ids = ("conversation_id", "project_id", "agent_id", "actor_member_id")
    message = {
        "type": {"const": "agent.chat_message"},
        "trigger_type": {"const": "chat_message"},
        **dict.fromkeys(ids, UUID_TEXT),
        "message": {"type": "string", "maxLength": MAX_MESSAGE_CHARACTERS},
        "chat_session_id": UUID_TEXT,
        "continue": {"enum": ["true", "false"]},
        "client_id": {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,100}$"},
        "on_busy": {"enum": list(ON_BUSY_CHOICES)},
    }
    task = {
        "type": {"enum": ["agent.task_assigned", "agent.description_write"]},
        "trigger_type": {"enum": ["task_assigned", "description_write"]},
        **dict.fromkeys((*ids, "task_id"), UUID_TEXT),
        "message": {"type": "string", "maxLength": MAX_MESSAGE_CHARACTERS},
    }
    mention = {
        "type": {"const": "agent.comment_mention"},
        "trigger_type": {"const": "comment_mention"},
        **dict.fromkeys((*ids, "task_id", "doc_id", "comment_id"), UUID_TEXT),
        "message": {"type": "string", "maxLength": MAX_MESSAGE_CHARACTERS},
    }
    stop = {"type": {"const": "agent.stop"}, **dict.fromkeys(ids, UUID_TEXT)}
    said = "Of paca:agent:triggers."
    return {
        "MessageEntry": _object(message, ["type", *ids, "message"], description=said),
        "TaskEntry": _object(task, ["type", *ids, "task_id"], description=said),
        "MentionEntry": _object(mention, ["type", *ids], description=said),
        "StopEntry": _object(stop, ["type", "conversation_id"], description=said),
    }


def _object(
    properties: dict[str, Any], required: list[str], *, description: str = ""
) -> dict[str, Any]:
    said = {"description": description} if description else {}
    return {"type": "object", **said, "properties": properties, "required": required}
