"""Status moves of conversations, turns and calls: the allowed ones are stored, all others are refused."""

from uuid import uuid4

import pytest
from django.db import IntegrityError

from paca import events
from paca.conversations import store
from paca.conversations.models import Conversation, ModelCall, ToolCall, Trigger, Turn
from paca.conversations.models.statuses import (
    CONVERSATION_MOVES,
    TRIGGER_MOVES,
    ConversationStatus,
    IllegalStatusMove,
    ModelCallStatus,
    ToolCallState,
    TriggerState,
    TurnStatus,
)
from paca.conversations.store import Lease
from paca.engine.turn import ModelCallStarted
from tests.conversations.leased_conversation import a_conversation, leased

pytestmark = pytest.mark.django_db(transaction=True)


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


def a_trigger(conversation: Conversation, *, state: str, turn: int | None = None) -> Trigger:
    return Trigger.objects.create(
        conversation=conversation, kind="chat_message", source="api", state=state, turn=turn
    )


@pytest.mark.parametrize("old", TriggerState)
@pytest.mark.parametrize("new", TriggerState)
def test_trigger_moves_only_as_the_table_allows(old, new):
    trigger = a_trigger(a_conversation(), state=old)
    allowed = new in TRIGGER_MOVES.get(old, ())
    assert Trigger.objects.filter(pk=trigger.pk).move(new) == allowed
    trigger.refresh_from_db()
    assert trigger.state == (new if allowed else old)


@pytest.mark.parametrize("final", ["done", "dead"])
def test_trigger_that_has_ended_is_neither_claimed_nor_answered(final):
    """Not even if a turn starts, reads messages and ends in the same conversation."""
    conversation = a_conversation(status="running")
    lease = leased(conversation)
    trigger = a_trigger(conversation, state=final, turn=1)
    assert store.claim_triggers(conversation.pk, turn=1) == []
    store.append(
        conversation.pk,
        events.TurnStarted(number=1),
        ModelCallStarted(call_id=uuid4().hex, model="m"),
        events.TurnFinished(number=1, status="finished", reason="answered"),
        lease=lease,
    )
    trigger.refresh_from_db()
    assert trigger.state == final


def test_status_with_which_rows_begin_is_refused_as_a_move():
    conversation = a_conversation(status="running")
    started_calls(conversation)
    with pytest.raises(IllegalStatusMove):
        store.append(conversation.pk, events.TurnFinished(number=1, status="running", reason="any"))


def test_database_refuses_an_unknown_status_of_a_trigger_a_turn_or_a_call():
    conversation = a_conversation(status="running")
    started_calls(conversation)
    a_trigger(conversation, state="new")
    for rows, change in (
        (Turn.objects.all(), {"status": "napping"}),
        (ModelCall.objects.all(), {"status": "napping"}),
        (ToolCall.objects.all(), {"state": "napping"}),
        (Trigger.objects.all(), {"state": "napping"}),
    ):
        with pytest.raises(IntegrityError, match="is_known"):
            rows.update(**change)
