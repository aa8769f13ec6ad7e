"""The store: numbers without a gap, one writer at a time, no changed row, all or nothing."""

import threading
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from paca import events
from paca.common.errors import NotFound
from paca.common.text import to_storable_json
from paca.conversations import event_log, services, store
from paca.conversations.models import Conversation, Event, ModelCall, ToolCall, Turn
from paca.conversations.store import Fenced
from paca.engine.turn import ModelCallStarted
from paca.worker.claim import release
from tests.conversations.leased_conversation import a_conversation, leased
from tests.support.frames import frames_of

pytestmark = pytest.mark.django_db(transaction=True)


def said(text: str) -> events.MessageReceived:
    return events.MessageReceived(text=text)


def numbers(conversation: Conversation) -> list[int]:
    rows = Event.objects.filter(conversation=conversation).order_by("seq")
    return list(rows.values_list("seq", flat=True))


def test_seq_starts_at_one_and_has_no_gap():
    conversation = a_conversation()
    store.append(conversation.pk, said("a"), said("b"))
    appended = store.append(conversation.pk, said("c"))
    assert (appended.first_seq, appended.last_seq) == (3, 3)
    assert numbers(conversation) == [1, 2, 3]


def test_concurrent_writers_get_different_numbers():
    conversation = a_conversation()

    def write() -> None:
        for _ in range(20):
            store.append(conversation.pk, said("x"), said("y"))
        connection.close()

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(conversation) == list(range(1, 241))


def test_superseded_worker_writes_nothing():
    conversation = a_conversation(status="running")
    old = leased(conversation, epoch=1)
    leased(conversation, epoch=2)
    with pytest.raises(Fenced):
        store.append(conversation.pk, events.MessageSpoken(text="late"), lease=old)
    assert numbers(conversation) == []


def test_worker_that_released_its_claim_writes_nothing():
    """The row keeps its epoch until the next claim, so the owner is checked too."""
    conversation = a_conversation(status="running")
    lease = leased(conversation)
    release(lease)
    with pytest.raises(Fenced):
        store.append(conversation.pk, events.MessageSpoken(text="late"), lease=lease)
    assert numbers(conversation) == []


def test_append_that_fails_midway_stores_nothing():
    conversation = a_conversation(status="running")
    lease = leased(conversation)
    call = events.ToolCalled(call_id=uuid4().hex, tool="bash", arguments={})
    with pytest.raises(IntegrityError):
        store.append(conversation.pk, said("x"), call, call, lease=lease)
    assert numbers(conversation) == []
    assert Conversation.objects.get(pk=conversation.pk).next_seq == 1


def test_event_row_can_be_neither_changed_nor_deleted():
    conversation = a_conversation()
    store.append(conversation.pk, said("for ever"))
    row = Event.objects.filter(conversation=conversation)
    with pytest.raises(IntegrityError), transaction.atomic():
        row.update(payload="{}")
    with pytest.raises(IntegrityError), transaction.atomic():
        row.delete()
    with pytest.raises(IntegrityError), transaction.atomic():
        conversation.delete()
    assert frames_of(conversation.pk)[0]["data"]["text"] == "for ever"


def test_deleted_conversation_takes_its_log_with_it_and_stores_nothing_more():
    conversation = a_conversation()
    store.append(conversation.pk, said("x"))
    Conversation.objects.filter(pk=conversation.pk).update(deleted_at=timezone.now())
    with pytest.raises(NotFound):
        store.append(conversation.pk, said("y"))
    Conversation.objects.get(pk=conversation.pk).delete()
    assert numbers(conversation) == []


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "x" * 200_000, "ü€𝄞", '\\u0000 "quoted"'])
def test_text_of_any_kind_is_stored_and_read_back(text):
    conversation = a_conversation()
    store.append(conversation.pk, said(text))
    (frame,) = frames_of(conversation.pk)
    expected = text.replace("\0", "\u2400").replace("\ud800", "?")
    assert frame["data"]["text"] == expected
    to_storable_json(frame).encode()


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "\0ab"])
def test_title_has_only_characters_that_a_page_can_show(text):
    assert services.title_from(text) == "ab"


def test_large_payload_is_stored_once():
    conversation = a_conversation()
    store.append(conversation.pk, said("y" * 100_000))
    store.append(conversation.pk, said("y" * 100_000))
    rows = Event.objects.filter(conversation=conversation)
    assert {row.payload for row in rows} == {""}
    assert len({row.blob_id for row in rows}) == 1


def test_calls_have_rows_and_their_usage_is_added_up():
    conversation = a_conversation(status="running")
    lease = leased(conversation)
    model_call, tool_call = uuid4().hex, uuid4().hex
    store.append(
        conversation.pk,
        events.TurnStarted(number=1),
        ModelCallStarted(call_id=model_call, model="m"),
        lease=lease,
    )
    store.append(
        conversation.pk,
        events.UsageRecorded(call_id=model_call, model="m", input=10, output=5, cost_usd=0.25),
        events.ToolCalled(call_id=tool_call, tool="bash", arguments={"command": "ls"}),
        events.ToolStarted(call_id=tool_call, boot_id="boot"),
        events.ToolReturned(call_id=tool_call, output="", failed=True, exit_code=2),
        events.TurnFinished(number=1, status="finished", reason="answered", steps=1),
        lease=lease,
    )
    assert ModelCall.objects.get().status == "done"
    call = ToolCall.objects.get()
    assert (call.state, call.exit_code, call.boot_id) == ("failed", 2, "boot")
    assert Turn.objects.get().status == "finished"
    row = Conversation.objects.get(pk=conversation.pk)
    assert row.usage == {
        "input": 10,
        "output": 5,
        "cache_read": 0,
        "cache_write": 0,
        "cost_usd": 0.25,
    }


def test_unknown_price_is_never_a_price_of_zero():
    conversation = a_conversation(status="running")
    usage = events.UsageRecorded(call_id=uuid4().hex, model="m", input=10, cost_usd=None)
    store.append(conversation.pk, usage, lease=leased(conversation))
    assert Conversation.objects.get(pk=conversation.pk).usage["cost_usd"] is None


def test_event_of_an_unknown_type_is_shown_whole():
    conversation = a_conversation()
    store.append(conversation.pk, said("x"))
    Event.objects.create(
        conversation=conversation,
        seq=2,
        type="agent.future.happened",
        source="system",
        at=timezone.now(),
        payload='{"a": 1}',
    )
    loaded = event_log.load_after(conversation.pk, 1)[0][1]
    assert loaded == events.UnknownEvent(
        original_type="agent.future.happened", payload_as_read={"a": 1}
    )
    assert frames_of(conversation.pk)[1]["type"] == "agent.future.happened"
