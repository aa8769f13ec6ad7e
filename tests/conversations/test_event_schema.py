"""The JSON Schema of events describes the frames that Paca sends, and is served as it is in the repository."""

import dataclasses
import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from paca import events
from paca.common.frames import StoredEvent, live_frame
from paca.conversations import event_schema

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[2]
NO_FACT = [[1]]  # no fact has a value of this type
EXAMPLES = {"string": "x", "integer": 7, "number": 0.5, "boolean": True, "array": ["x"]}


@cache
def validator(definition: str = "") -> Draft202012Validator:
    """Checks values of a definition, or frames."""
    document = event_schema.document()
    if definition:
        document = {**document, "$ref": f"#/$defs/{definition}"}
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document)


def example(cls: type[events.Event]) -> events.Event:
    """An event of this type with a value for each fact that has no default."""
    properties = event_schema.facts_schema(cls)["properties"]
    needed = event_schema.facts_schema(cls)["required"]
    return cls(**{name: EXAMPLES.get(properties[name]["type"], {"a": 1}) for name in needed})


def frame_of(cls: type[events.Event], data: dict[str, Any]) -> dict[str, Any]:
    if not cls.durable:
        return live_frame(example(cls), at=NOW) | {"data": data}
    return json.loads(StoredEvent(1, cls.type, "agent", 1, NOW, json.dumps(data)).frame())


@pytest.mark.parametrize("name", events.EVENT_TYPES)
def test_schema_accepts_the_frames_of_every_type_and_no_others(name):
    cls = events.EVENT_TYPES[name]
    data = example(cls).payload()
    validator().validate(frame_of(cls, data))
    for fact in dataclasses.fields(cls):
        with pytest.raises(ValidationError):
            validator().validate(frame_of(cls, {**data, fact.name: NO_FACT}))


def test_schema_accepts_events_of_older_and_newer_versions():
    older = frame_of(events.ToolReturned, {"call_id": "c", "output": ""})
    validator().validate(older)
    validator().validate(older | {"data": {**older["data"], "a_later_fact": 1}})
    with pytest.raises(ValidationError):
        validator().validate(frame_of(events.ToolReturned, {"output": ""}))


def test_schema_is_served_without_a_sign_in_as_it_is_in_the_repository(client):
    answer = client.get("/api/v1/events/schema/")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/schema+json"
    assert answer.content == (ROOT / "docs/events.schema.json").read_bytes()
    assert answer.json()["$id"] == "/api/v1/events/schema/"
    assert client.post("/api/v1/events/schema/").status_code == 405


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        ("StopEntry", {"type": "agent.stop", "conversation_id": "7d0f1e0a-5b5e-4d5b-9b1e-2f6c3a1d9e77"}),
        ("TriggerResult", {"entry_id": "1-0", "status": "accepted", "type": "agent.stop"}),
        ("Announcement", {"type": "agent.turn.started", "payload": {"project_id": "p", "conversation_id": "c", "seq": 1}}),
    ],
)  # fmt: skip
def test_schema_describes_what_other_programs_read_and_write(definition, value):
    validator(definition).validate(value)
    with pytest.raises(ValidationError):
        validator(definition).validate({"type": "agent.dance"})
