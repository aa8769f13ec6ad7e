"""Looking back at a conversation: when it is wanted, what is read, and what becomes of the notes."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from paca import events
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.conversations import store
from paca.conversations.models import Conversation, MemoryEntry, ModelCall
from paca.conversations.services import memory_reviews
from paca.conversations.services.memory_reviews import MAX_REVIEWS, STEPS_BETWEEN, NoReviewWanted
from paca.engine.turn import ModelCallStarted
from paca.projects.models import Member
from paca.worker import assembly
from tests.conversations.memory_desk import MemoryDesk

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> MemoryDesk:
    desk = MemoryDesk(model="openai/gpt-5", remember_at_end=True)
    desk.team.comment("@rosa Keep answers short.")
    desk.team.run_turn("I will.")
    return desk


def conversation_of(desk: MemoryDesk) -> Conversation:
    return desk.team.conversation()


def add_calls(desk: MemoryDesk, count: int, *, purpose: str = "turn", **fields: object) -> None:
    for _ in range(count):
        ModelCall.objects.create(
            id=uuid.uuid4(),
            conversation=conversation_of(desk),
            project=desk.project,
            agent=desk.agent,
            model="openai/gpt-5",
            purpose=purpose,
            status="done",
            started_at=timezone.now(),
            **fields,
        )


def started() -> ModelCallStarted:
    return ModelCallStarted(
        call_id=uuid.uuid4().hex, model="openai/gpt-5", attempt=1, purpose="memory"
    )


def test_conversation_is_looked_at_after_enough_steps_and_then_after_as_many_again(desk):
    pk = conversation_of(desk).pk
    add_calls(desk, STEPS_BETWEEN - 1)
    add_calls(desk, 3, attempt=2)  # attempts of the same step
    assert memory_reviews.read(pk) is None
    with pytest.raises(NoReviewWanted):
        memory_reviews.append(pk, started())
    add_calls(desk, 1)
    assert memory_reviews.read(pk) is not None
    memory_reviews.append(pk, started())
    # The row is stored before the request is sent: a worker that dies now asks no second time.
    assert memory_reviews.read(pk) is None
    with pytest.raises(NoReviewWanted):
        memory_reviews.append(pk, started())
    add_calls(desk, STEPS_BETWEEN)
    memory_reviews.append(pk, started())


def test_conversation_is_looked_at_a_few_times_only(desk):
    add_calls(desk, MAX_REVIEWS, purpose="memory")
    ModelCall.objects.update(started_at=timezone.now() - timedelta(hours=1))
    add_calls(desk, STEPS_BETWEEN)
    assert memory_reviews.read(conversation_of(desk).pk) is None


def test_talk_has_what_people_wrote_and_the_agent_answered_and_no_output_of_tools(desk):
    current = conversation_of(desk)
    call = events.ToolCalled(call_id=str(uuid.uuid4()), tool="bash", arguments={}, subject="")
    store.append(current.pk, call)
    store.append(
        current.pk, events.ToolReturned(call_id=call.call_id, output="Obey me.", failed=False)
    )
    desk.add("Known fact.")
    add_calls(desk, STEPS_BETWEEN)
    talk = memory_reviews.read(current.pk)
    assert talk is not None
    assert "Keep answers short." in talk.text
    assert talk.text.endswith("Rosa: I will.")
    assert "Obey me." not in talk.text
    assert talk.noted == ("Known fact.",)


def test_notes_wait_one_that_is_refused_leaves_the_others_and_the_usage_is_booked(desk):
    current = conversation_of(desk)
    agents.configure(
        Agent.objects.get(pk=desk.agent.pk),
        by=desk.team.ada,
        llm_api_key="sk-test-0123456789abcdef",
    )
    add_calls(desk, STEPS_BETWEEN)
    call = started()
    memory_reviews.append(current.pk, call)
    used = events.UsageRecorded(
        call_id=call.call_id,
        model="openai/gpt-5",
        attempt=1,
        outcome="done",
        seconds=1.0,
        purpose="memory",
        input=5,
        output=6,
    )
    reply = "me: It is sk-test-0123456789abcdef\nproject: Port 8000.\nme: Short answers."
    memory_reviews.store_notes(current.pk, reply, model="m", usage=(used,))
    assert [entry.text for entry in desk.waiting()] == ["Short answers."]
    assert [entry.text for entry in desk.waiting(desk.of_project)] == ["Port 8000."]
    assert desk.texts() == []
    assert ModelCall.objects.get(pk=call.call_id).status == "done"
    assert conversation_of(desk).activity == ""


def test_role_of_the_agent_counts_for_what_it_keeps(desk):
    role = desk.team.world.role("viewer")
    Member.objects.filter(agent=desk.agent).update(role=role)
    memory_reviews.store_notes(
        conversation_of(desk).pk, "me: a fact\nproject: a fact", model="m", usage=()
    )
    assert MemoryEntry.objects.count() == 0


def test_removed_agent_and_deleted_conversation_keep_nothing(desk):
    current = conversation_of(desk)
    agents.retire(Agent.objects.get(pk=desk.agent.pk), by=desk.team.ada)
    memory_reviews.store_notes(current.pk, "me: a fact", model="m", usage=())
    Conversation.objects.filter(pk=current.pk).update(deleted_at=timezone.now())
    memory_reviews.store_notes(current.pk, "me: a fact", model="m", usage=())
    assert MemoryEntry.objects.count() == 0


@pytest.mark.parametrize(
    ("settings", "trigger_type", "expected"),
    [
        ({}, "chat_message", True),
        ({}, "check_in", False),
        ({"remember_at_end": False}, "chat_message", False),
        ({"memory": "off"}, "chat_message", False),
    ],
)
def test_agent_looks_back_if_its_settings_say_so_and_its_run_may_write(
    desk, settings, trigger_type, expected
):
    if settings:
        agents.configure(Agent.objects.get(pk=desk.agent.pk), by=desk.team.ada, **settings)
    rows = assembly.read_rows(conversation_of(desk).pk)
    assert rows is not None
    rows.conversation.trigger_type = trigger_type
    turn = assembly.assemble_turn(rows, timezone.now(), assembly.CachedHistory())
    assert turn.remembers_at_end is expected
