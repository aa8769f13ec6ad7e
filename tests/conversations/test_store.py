"""The store: numbers without a gap, one writer at a time, no changed row, all or nothing."""

import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from paca import events
from paca.common.errors import NotFound
from paca.common.text import to_storable_json
from paca.conversations import event_log, services, store
from paca.conversations.models import Conversation, Event, ModelCall, ToolCall, Turn
from paca.conversations.models.statuses import (
    CONVERSATION_MOVES,
    ConversationStatus,
    IllegalStatusMove,
    ModelCallStatus,
    ToolCallState,
    TurnStatus,
)
from paca.conversations.store import Fenced, Lease
from paca.engine.ports import ModelCallStarted
from paca.worker.claim import release
from tests.support.frames import frames_of
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)


def a_conversation(**facts: object) -> Conversation:
    made = make_world()
    return Conversation.objects.create(
        project=made.project, agent=made.agent, trigger_type="chat_message", **facts
    )


def leased(conversation: Conversation, epoch: int = 1) -> Lease:
    """A lease of the conversation, as if a worker had claimed it."""
    Conversation.objects.filter(pk=conversation.pk).update(
        lease_owner="w", lease_epoch=epoch, lease_until=timezone.now() + timedelta(seconds=60)
    )
    return Lease(conversation.pk, "w", epoch)


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


@pytest.mark.parametrize("old", ConversationStatus.values)
@pytest.mark.parametrize("new", ConversationStatus.values)
def test_database_allows_exactly_the_status_moves_of_the_table(old, new):
    conversation = a_conversation(status=old)
    move = Conversation.objects.filter(pk=conversation.pk)
    if new == old or new in CONVERSATION_MOVES[ConversationStatus(old)]:
        assert move.update(status=new) == 1
    else:
        with pytest.raises(IntegrityError, match="conversation_moves_as_allowed"):
            move.update(status=new)


def test_append_raises_for_an_illegal_status_move():
    conversation = a_conversation(status="finished")
    with pytest.raises(IllegalStatusMove):
        store.append(conversation.pk, events.ConversationPaused(reason="by_person"))


def started_calls(conversation: Conversation) -> tuple[Lease, str, str]:
    """A running turn with one model call and one tool call."""
    lease, model_call, tool_call = leased(conversation), uuid4().hex, uuid4().hex
    store.append(
        conversation.pk,
        events.TurnStarted(number=1),
        ModelCallStarted(call_id=model_call, model="m"),
        events.ToolCalled(call_id=tool_call, tool="bash", arguments={}),
        lease=lease,
    )
    return lease, model_call, tool_call


def assert_moves_if(allowed: bool, conversation: Conversation, event: events.Event) -> None:
    """The event is stored if its status move is allowed, and refused with an error otherwise."""
    if allowed:
        store.append(conversation.pk, event)
        return
    with pytest.raises(IllegalStatusMove):
        store.append(conversation.pk, event)


@pytest.mark.parametrize("old", TurnStatus.values)
@pytest.mark.parametrize("new", ["finished", "paused", "failed", "stopped"])
def test_turn_ends_only_while_it_runs(old, new):
    conversation = a_conversation(status="running")
    started_calls(conversation)
    Turn.objects.update(status=old)
    event = events.TurnFinished(number=1, status=new, reason="any")
    assert_moves_if(old == "running", conversation, event)
    assert Turn.objects.get().status == (new if old == "running" else old)


@pytest.mark.parametrize("old", ModelCallStatus.values)
@pytest.mark.parametrize("new", ["done", "failed", "cancelled"])
def test_model_call_ends_only_while_it_is_open(old, new):
    conversation = a_conversation(status="running")
    _, model_call, _ = started_calls(conversation)
    ModelCall.objects.update(status=old)
    event = events.UsageRecorded(call_id=model_call, model="m", outcome=new)
    assert_moves_if(old == "started", conversation, event)
    assert ModelCall.objects.get().status == (new if old == "started" else old)


@pytest.mark.parametrize("old", ToolCallState.values)
@pytest.mark.parametrize("new", ["started", "done", "failed", "unknown"])
def test_tool_call_starts_and_ends_only_while_it_is_open(old, new):
    conversation = a_conversation(status="running")
    _, _, call_id = started_calls(conversation)
    ToolCall.objects.update(state=old)
    event = {
        "started": events.ToolStarted(call_id=call_id, boot_id="a"),
        "done": events.ToolReturned(call_id=call_id, output=""),
        "failed": events.ToolReturned(call_id=call_id, output="", failed=True),
        "unknown": events.ToolOutcomeUnknown(call_id=call_id, output="", reason="sandbox_lost"),
    }[new]
    is_open = old in ("called", "started")
    assert_moves_if(is_open, conversation, event)
    assert ToolCall.objects.get().state == (new if is_open else old)


def test_tool_call_may_start_again_in_another_sandbox():
    conversation = a_conversation(status="running")
    lease, _, tool_call = started_calls(conversation)
    for boot_id in ("first", "second"):
        store.append(
            conversation.pk, events.ToolStarted(call_id=tool_call, boot_id=boot_id), lease=lease
        )
    assert ToolCall.objects.get().boot_id == "second"


def test_database_refuses_an_unknown_status_of_a_turn_or_a_call():
    started_calls(a_conversation(status="running"))
    for rows, change in (
        (Turn.objects.all(), {"status": "napping"}),
        (ModelCall.objects.all(), {"status": "napping"}),
        (ToolCall.objects.all(), {"state": "napping"}),
    ):
        with pytest.raises(IntegrityError, match="is_known"):
            rows.update(**change)


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
