"""Claims of conversations, and conversations that kill every worker that claims them."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError
from django.utils import timezone

from paca import events
from paca.conversations import services, store
from paca.conversations.models import Conversation, ModelCallStatus
from paca.conversations.models.statuses import IllegalStatusMove
from paca.engine.turn import ModelCallStarted
from paca.worker import claim, turn_end
from paca.worker.claim import MAX_LOST_WORKERS, PARKED_DETAIL
from tests.support.flow import ObservedConversation
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db(transaction=True)


def claim_all(worker: str = "w") -> list[claim.Claimed]:
    return claim.claim(worker, lease_seconds=30, limit=10)


def expire_leases() -> None:
    Conversation.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


def start_conversation(here: World | None = None) -> ObservedConversation:
    here = here or make_world()
    return ObservedConversation(
        services.start_chat(here.agent, text="Go", by=here.owner).conversation_id
    )


def test_claim_gives_a_conversation_to_one_worker():
    start_conversation()
    assert [len(claim_all("one")), len(claim_all("two"))] == [1, 0]


def test_claim_parks_a_conversation_that_kills_its_workers_until_it_is_continued():
    conversation = start_conversation()
    for _ in range(MAX_LOST_WORKERS):
        assert len(claim_all()) == 1
        expire_leases()
    assert claim_all() == []
    assert conversation.status == "paused/parked"
    assert conversation.row.turns.get().status == "paused"
    trigger = conversation.row.triggers.get()
    assert (trigger.state, trigger.last_error) == ("dead", PARKED_DETAIL)
    services.continue_(conversation.row, by=conversation.row.session.member)
    assert len(claim_all()) == 1


def test_release_does_not_count_as_a_lost_worker():
    conversation = start_conversation()
    for _ in range(MAX_LOST_WORKERS + 3):
        (claimed,) = claim_all()
        claim.release(claimed.lease)
    assert conversation.row.status == "running"


def test_completed_step_resets_the_count_of_lost_workers():
    conversation = start_conversation()
    for _ in range(MAX_LOST_WORKERS + 3):
        (claimed,) = claim_all()
        used = events.UsageRecorded(call_id="0" * 32, model="m")
        store.append(conversation.id, used, lease=claimed.lease)
        expire_leases()
    assert conversation.row.status == "running"


def test_pause_at_the_end_of_a_turn_keeps_new_messages_waiting():
    conversation = start_conversation()
    (claimed,) = claim_all()
    by = conversation.row.session.member
    services.send(conversation.row, text="And this", by=by)
    services.pause(conversation.row, by=by)
    answered = turn_end.TurnOutcome("finished", "answered")
    assert turn_end.end_turn(claimed.lease, [], answered, steps=1) is False
    assert conversation.status == "paused/by_person"
    services.resume(conversation.row, by=by)
    claim_all()
    assert conversation.row.triggers.filter(state="new").count() == 0


@pytest.mark.parametrize("reason", ["step_limit", "stuck", "by_person"])
def test_message_after_a_late_stop_is_answered_although_the_paused_turn_has_read_it(reason):
    conversation = start_conversation()
    (claimed,) = claim_all()
    by = conversation.row.session.member
    services.stop(conversation.row, by=by)
    services.send(conversation.row, text="This instead", by=by)
    call = ModelCallStarted(call_id=uuid4().hex, model="m")
    store.append(conversation.id, call, lease=claimed.lease)
    turn_end.end_turn(claimed.lease, [], turn_end.TurnOutcome("paused", reason), steps=1)
    assert conversation.status == "queued/"
    (following,) = claim_all()
    assert following.rows.conversation.turn_number == 2
    assert [
        (each.kind, each.turn) for each in conversation.row.triggers.filter(state="claimed")
    ] == [("chat_message", 2)]


def test_message_after_the_stop_of_a_conversation_that_kills_its_workers_is_answered():
    conversation = start_conversation()
    by = conversation.row.session.member
    claim_all()
    services.stop(conversation.row, by=by)
    for text in ("This instead", "And this"):
        services.send(conversation.row, text=text, by=by)
        (lease,) = Conversation.objects.values_list("lease_owner", "lease_epoch")
        call = ModelCallStarted(call_id=uuid4().hex, model="m")
        if text == "This instead":  # a turn has read the first one
            store.append(conversation.id, call, lease=store.Lease(conversation.id, *lease))
    for _ in range(MAX_LOST_WORKERS):
        expire_leases()
        claim_all()
    assert conversation.status == "queued/"
    assert [each["type"] for each in conversation.frames[-2:]] == [
        "agent.conversation.stopped",
        "agent.conversation.queued",
    ]
    claim_all()
    claimed = conversation.row.triggers.filter(state="claimed")
    assert [each.turn for each in claimed] == [2, 2]


def test_claim_parks_a_conversation_whose_turn_has_ended_already():
    conversation = start_conversation()
    for _ in range(MAX_LOST_WORKERS):
        assert len(claim_all()) == 1
        expire_leases()
    conversation.row.turns.update(status="finished")
    assert claim_all() == []
    assert conversation.status == "paused/parked"
    assert conversation.row.turns.get().status == "finished"


@pytest.mark.parametrize("error", [IllegalStatusMove, IntegrityError])
def test_claim_of_one_conversation_that_is_refused_does_not_block_the_others(monkeypatch, error):
    here = make_world()
    refused, other = start_conversation(here), start_conversation(here)
    append = store.append

    def append_or_refuse(conversation_id, *entries, **options):
        if conversation_id == refused.id:
            raise error
        return append(conversation_id, *entries, **options)

    monkeypatch.setattr(store, "append", append_or_refuse)
    assert [claimed.lease.conversation_id for claimed in claim_all()] == [other.id]
    assert refused.row.lease_owner == ""


def test_conversation_without_the_row_of_its_turn_does_not_block_the_others():
    here = make_world()
    broken = start_conversation(here)
    assert len(claim_all()) == 1
    broken.row.turns.all().delete()
    expire_leases()
    other = start_conversation(here)
    assert [each.lease.conversation_id for each in claim_all()] == [other.id]


@pytest.mark.parametrize("old", ModelCallStatus.values)
def test_claim_after_a_lost_worker_abandons_only_open_model_calls(old):
    conversation = start_conversation()
    (claimed,) = claim_all()
    started = ModelCallStarted(call_id=uuid4().hex, model="m")
    store.append(conversation.id, started, lease=claimed.lease)
    conversation.row.model_calls.update(status=old)
    expire_leases()
    claim_all()
    expected = "abandoned" if old == "started" else old
    assert conversation.row.model_calls.get().status == expected


def test_claim_of_a_conversation_takes_its_new_messages_and_interrupts():
    conversation = start_conversation()
    by = conversation.row.session.member
    claim_all()
    services.send(conversation.row, text="And this", by=by, on_busy="interrupt")
    services.pause(conversation.row, by=by)
    taken = store.claim_triggers(conversation.id, turn=2)
    states = conversation.row.triggers.values_list("control", "state", "turn")
    assert set(states) == {("", "claimed", 1), ("interrupt", "claimed", 2), ("pause", "new", None)}
    assert len(taken) == 1
