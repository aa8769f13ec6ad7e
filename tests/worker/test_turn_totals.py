"""What the end of a turn says about the whole turn."""

import json
import time
from datetime import timedelta
from uuid import uuid4

import pytest

from paca import events
from paca.conversations.models import Event, Turn
from paca.engine.turn import LogEntry, ModelCallStarted
from tests.conversations.chat import Chat

pytestmark = pytest.mark.django_db


def model_call(**usage) -> list[LogEntry]:
    call_id = str(uuid4())
    recorded = events.UsageRecorded(call_id=call_id, model="m", **usage)
    return [ModelCallStarted(call_id=call_id, model="m", attempt=1), recorded]


def end_of_turn(conversation_id) -> dict:
    row = Event.objects.filter(conversation=conversation_id, type="agent.turn.finished").last()
    assert row is not None
    facts = json.loads(row.payload)
    assert isinstance(facts, dict)
    return facts


def test_end_of_a_turn_says_what_the_whole_turn_took():
    began = time.monotonic()
    chat = Chat()
    started = chat.start()["conversation"]
    lease = chat.start_turn(started, *model_call(input=1000, output=50, cost_usd=0.25))
    Turn.objects.update(started_at=Turn.objects.get().started_at - timedelta(minutes=2))
    last = model_call(input=10, output=5, cache_read=900, cost_usd=0.05)
    chat.finish_turn(lease, *last)
    facts = end_of_turn(started)
    assert 120 <= facts["seconds"] <= 120 + (time.monotonic() - began)
    assert facts["usage"] == {
        "input": 1010,
        "output": 55,
        "cache_read": 900,
        "cache_write": 0,
        "cost_usd": 0.3,
        "calls": 2,
        "unpriced_calls": 0,
        "priced_cost_usd": 0.3,
    }


def test_end_of_a_turn_counts_only_its_own_calls_and_never_takes_an_unknown_price_as_zero():
    chat = Chat()
    started = chat.start()["conversation"]
    chat.run_turn(started, *model_call(input=7, cost_usd=0.5))
    chat.api.post(chat.url(started, "messages/"), {"text": "More"})
    untold = model_call(input=None, output=None, cost_usd=None)
    chat.run_turn(started, *untold, *model_call(input=3, cost_usd=0.125))
    usage = end_of_turn(started)["usage"]
    assert (usage["input"], usage["calls"], usage["unpriced_calls"]) == (3, 2, 1)
    assert (usage["cost_usd"], usage["priced_cost_usd"]) == (None, 0.125)
