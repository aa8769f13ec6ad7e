"""People ask for a summary of a conversation, and read how full the model's window is."""

from uuid import UUID

import pytest

from paca import events
from paca.conversations import event_log, store
from paca.engine.compaction_state import CompactionState
from tests.conversations.chat import Chat, error_of

pytestmark = pytest.mark.django_db
CONTEXT = {
    "used": 900,
    "window": 8000,
    "parts": {"system": 100, "tools": 500, "messages": 200, "results": 100},
}
CALL = "0f8fad5b-d9cb-469f-a165-70867728950e"


def requests(chat, started):
    log = chat.api.get(chat.url(started, "events/")).json()["results"]
    found = [frame for frame in log if frame["type"] == "agent.context.compaction_requested"]
    return [(frame["data"]["focus"], frame["data"]["by"], frame["source"]) for frame in found]


def test_summary_is_requested_once_until_it_is_made():
    chat = Chat()
    started = chat.start()["conversation"]
    name = chat.world.owner.name
    for _ in range(2):
        answer = chat.api.post(chat.url(started, "compact/"), {"focus": " names "})
        assert (answer.status_code, answer.data["id"]) == (202, started)
    assert requests(chat, started) == [("names", name, "user")]
    made = events.ContextCompacted(summary="Notes.", upto_seq=2, tokens_before=9, tokens_after=3)
    store.append(chat.row(started).pk, made)
    assert chat.api.post(chat.url(started, "compact/")).status_code == 202
    assert requests(chat, started) == [("names", name, "user"), ("", name, "user")]


def test_summary_that_the_origin_waits_for_is_not_made_in_a_fork():
    chat = Chat()
    started = chat.start()["conversation"]
    chat.run_turn(started, events.MessageSpoken(text="Hi."))
    url = chat.url(started, "compact/")
    assert chat.api.post(url, {"focus": "numbers"}).status_code == 202
    made = chat.api.post(chat.url(started, "fork/"), {"seq": chat.row(started).last_seq}).json()
    state = CompactionState()
    for seq, event in event_log.load_after(UUID(made["id"]), 0):
        state = state.advance(event, seq)
    assert state.requested is None
    # The same request in the fork is another one.
    assert chat.api.post(chat.url(made["id"], "compact/"), {"focus": "numbers"}).status_code == 202
    assert len(requests(chat, made["id"])) == 2


def test_summary_with_a_key_is_requested_once():
    chat = Chat()
    started = chat.start()["conversation"]
    for _ in range(2):
        headers = {"Idempotency-Key": "one"}
        assert chat.api.post(chat.url(started, "compact/"), {}, **headers).status_code == 202
    assert len(requests(chat, started)) == 1


def test_focus_that_is_too_long_is_refused():
    chat = Chat()
    started = chat.start()["conversation"]
    answer = chat.api.post(chat.url(started, "compact/"), {"focus": "x" * 2001})
    assert error_of(answer)[2] == {"focus": ["At most 2,000 characters; this has 2,001."]}
    assert requests(chat, started) == []


def test_context_of_the_newest_request_is_told_with_the_conversation():
    chat = Chat()
    started = chat.start()["conversation"]
    url = chat.url(started)
    assert chat.api.get(url).data["context"] is None
    pk = chat.row(started).pk
    store.append(pk, events.UsageRecorded(call_id=CALL, model="m", context=CONTEXT))
    assert chat.api.get(url).data["context"] == CONTEXT
    store.append(pk, events.UsageRecorded(call_id=CALL, model="m", purpose="compaction"))
    assert chat.api.get(url).data["context"] == CONTEXT
    after = {**CONTEXT, "used": 300}
    made = {"summary": "N", "upto_seq": 2, "tokens_before": 900, "tokens_after": 300}
    store.append(pk, events.ContextCompacted(**made, context=after))
    assert chat.api.get(url).data["context"] == after


def test_activity_tells_that_a_summary_is_made():
    chat = Chat()
    started = chat.start()["conversation"]
    pk = chat.row(started).pk
    store.append(pk, events.ContextCompacting(part=1, parts=1))
    assert chat.api.get(chat.url(started)).data["activity"] == "compacting"
