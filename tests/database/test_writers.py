"""Concurrent writers: numbers without a gap, each conversation claimed once, no deadlock."""

import random
from collections import Counter
from contextlib import suppress
from functools import partial

import pytest
from django.utils import timezone

from paca import events
from paca.agents.models import Agent
from paca.common.errors import PacaError
from paca.conversations import deletion, services, store
from paca.conversations.models import Blob, ChatSession, Conversation, Event, Trigger
from paca.engine.turn import TurnOutcome
from paca.worker import claim, turn_end
from tests.database.concurrency import run_concurrently
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db(transaction=True)

LARGE = "x" * 70_000


def begin(here: World, text: str = "Hello") -> Conversation:
    sent = services.start_chat(here.agent, text=text, by=here.owner)
    return Conversation.objects.get(pk=sent.conversation_id)


def assert_without_a_gap(conversation: Conversation) -> None:
    numbers = Event.objects.filter(conversation=conversation).order_by("seq")
    conversation.refresh_from_db()
    assert list(numbers.values_list("seq", flat=True)) == [*range(1, conversation.last_seq + 1)]


def test_concurrent_writers_leave_no_gap_and_lose_nothing():
    here = make_world()
    busy = [begin(here) for _ in range(3)]
    before = sum(conversation.last_seq for conversation in Conversation.objects.all())

    def write(number: int) -> None:
        order = random.Random(number)
        for turn in range(25):
            said = [events.MessageReceived(text=f"{number}/{turn}") for _ in range(1 + turn % 3)]
            store.append(order.choice(busy).pk, *said)

    run_concurrently(partial(write, number) for number in range(8))
    for conversation in busy:
        assert_without_a_gap(conversation)
    assert Event.objects.count() == before + 8 * (25 + 24)


def test_concurrent_writers_of_large_payloads_do_not_deadlock():
    """Two logs store the same payloads in opposite order."""
    here = make_world()
    one, other = begin(here), begin(here)
    bodies = [events.MessageReceived(text=f"{n} {LARGE}") for n in range(4)]

    def write(conversation: Conversation, said: list[events.MessageReceived]) -> None:
        store.append(conversation.pk, *said)

    for _ in range(5):
        run_concurrently([partial(write, one, bodies), partial(write, other, bodies[::-1])])
    assert Blob.objects.count() == 4
    assert_without_a_gap(one)
    assert_without_a_gap(other)


def test_blob_survives_a_deletion_while_another_log_stores_it():
    here = make_world()
    for number in range(6):
        body = events.MessageReceived(text=f"{number} {LARGE}")
        leaving, coming = begin(here), begin(here)
        services.stop(leaving, by=here.owner)
        store.append(leaving.pk, body)
        run_concurrently(
            [
                partial(deletion.delete, leaving, by=here.owner),
                partial(store.append, coming.pk, body),
            ]
        )
        stored = Event.objects.get(conversation=coming, blob__isnull=False)
        assert LARGE in stored.blob.body


def test_concurrent_claims_take_each_conversation_once():
    here = make_world()
    here.agent.limit_concurrent = 10
    here.agent.save()
    waiting = {begin(here).pk for _ in range(20)}
    taken: Counter[object] = Counter()

    def work(owner: str) -> None:
        while claimed := claim.claim(owner, lease_seconds=60, limit=3):
            for one in claimed:
                taken[one.lease.conversation_id] += 1
                turn_end.end_turn(one.lease, [], TurnOutcome("finished", "answered"), steps=1)

    run_concurrently(partial(work, f"worker {n}") for n in range(4))
    # A conversation that no claim of a round got is claimed by the next sweep.
    work("the next sweep")
    assert taken == Counter(waiting)
    assert set(Conversation.objects.values_list("lease_epoch", flat=True)) == {1}


def test_concurrent_claims_respect_the_limit_of_the_agent():
    here = make_world()
    here.agent.limit_concurrent = 3
    here.agent.save()
    for _ in range(12):
        begin(here)
    run_concurrently(
        partial(claim.claim, f"worker {n}", lease_seconds=60, limit=12) for n in range(6)
    )
    assert Conversation.objects.filter(status="running").count() <= 3
    claim.claim("the next sweep", lease_seconds=60, limit=12)
    assert Conversation.objects.filter(status="running").count() == 3


def test_message_to_an_agent_that_is_being_removed_is_stopped():
    """The removal did not see the conversation, because it was not committed yet."""
    here = make_world()
    slipped = begin(here)
    Agent.objects.update(deleted_at=timezone.now())
    assert claim.claim("a worker", lease_seconds=60, limit=1) == []
    slipped.refresh_from_db()
    assert (slipped.status, slipped.reason) == ("stopped", "agent_removed")
    assert not Trigger.objects.filter(state="new").exists()


class RandomCaller:
    """Calls random services on a few chats, as people and workers do."""

    def __init__(self, here: World, number: int) -> None:
        self.here = here
        self.number = number
        self.order = random.Random(number)

    def chat(self) -> ChatSession:
        return self.order.choice(list(ChatSession.objects.select_related("agent", "conversation")))

    def conversation(self) -> Conversation:
        found = Conversation.objects.filter(deleted_at=None).select_related("agent")
        return self.order.choice(list(found))

    def write(self) -> None:
        on_busy = self.order.choice(["queue", "interrupt"])
        services.send(self.conversation(), text="More", by=self.here.owner, on_busy=on_busy)

    def stop(self) -> None:
        services.stop(self.conversation(), by=self.here.owner)

    def clear(self) -> None:
        services.clear(self.chat(), by=self.here.owner)

    def begin(self) -> None:
        services.start_chat(self.here.agent, text="Hello", by=self.here.owner)

    def delete(self) -> None:
        deletion.delete(self.conversation(), by=self.here.owner)

    def end_all(self) -> None:
        services.stop_agent_conversations(self.here.agent.pk, by="an admin")

    def work(self) -> None:
        """Run a turn of up to two conversations."""
        for claimed in claim.claim(f"worker {self.number}", lease_seconds=60, limit=2):
            lease = claimed.lease
            spoken = events.MessageSpoken(text=self.order.choice(["Done.", LARGE]))
            store.append(lease.conversation_id, spoken, lease=lease)
            while turn_end.end_turn(lease, [], TurnOutcome("finished", "answered"), steps=1):
                pass

    def call_services(self, rounds: int) -> None:
        acts = [self.write] * 4 + [self.work] * 4 + [self.stop, self.clear, self.begin]
        acts += [self.delete, self.end_all]
        for _ in range(rounds):
            with suppress(PacaError, IndexError):
                self.order.choice(acts)()


def test_concurrent_services_never_deadlock():
    """PostgreSQL ends a deadlock with an error, which would be raised here."""
    here = make_world()
    here.agent.limit_concurrent = 4
    here.agent.save()
    for _ in range(4):
        begin(here)
    run_concurrently(partial(RandomCaller(here, number).call_services, 40) for number in range(8))
    for conversation in Conversation.objects.filter(deleted_at=None):
        assert_without_a_gap(conversation)
    running = Conversation.objects.filter(status="running")
    assert running.count() <= 4
    rests = Conversation.objects.exclude(status__in=["running", "waiting", "queued"])
    assert not Trigger.objects.filter(conversation__in=rests, state="claimed").exists()
