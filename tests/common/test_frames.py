"""Frames: the JSON text of an event, put together from its columns and its stored payload."""

import json
from datetime import UTC, datetime

import pytest

from paca import events
from paca.common.frames import StoredEvent, live_frame

AT = datetime(2026, 11, 28, 12, 0, 0, 250, UTC)


@pytest.mark.parametrize("turn", [None, 7])
@pytest.mark.parametrize("source", ["agent", 'a "quoted" \\ source', "Grüße\u2028€𝄞"])
def test_frame_is_valid_json_with_the_columns_and_the_payload(source, turn):
    facts = {"text": 'a "quote"\n\u2028 €𝄞', "nested": {"list": [1, 2.5, None, True]}}
    stored = StoredEvent(12, "agent.x", source, turn, AT, json.dumps(facts, ensure_ascii=False))
    assert json.loads(stored.frame()) == {
        "type": "agent.x",
        "seq": 12,
        "at": "2026-11-28T12:00:00.000250+00:00",
        "source": source,
        "turn": turn,
        "data": facts,
    }


def test_frame_holds_the_payload_as_it_is_stored():
    payload = '{"text":"\\u00fc", "a" : 1.0}'
    assert payload in StoredEvent(1, "agent.x", "user", None, AT, payload).frame()


def test_live_frame_has_the_fields_of_a_stored_one_and_no_number():
    event = events.TextStreamed(call_id="c", offset=0, text="Hi")
    live = live_frame(event, at=AT)
    stored = StoredEvent(1, event.type, "agent", None, AT, json.dumps(event.payload()))
    assert live == json.loads(stored.frame()) | {"seq": None}
