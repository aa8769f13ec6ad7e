"""The lease keeper renews leases whatever else the database does, and reports each lost lease."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection

from paca.conversations import services
from paca.conversations.models import Conversation
from paca.conversations.store import Lease
from paca.worker import claim
from paca.worker.lease import LeaseKeeper
from paca.worker.worker_registry import WorkerRegistration
from tests.support.flow import wait_until
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 3.0


@pytest.fixture
def lost() -> list[Lease]:
    return []


@pytest.fixture
def keeper(lost: list[Lease]) -> Iterator[LeaseKeeper]:
    registration = WorkerRegistration(concurrency=2)
    registration.register()
    made = LeaseKeeper(registration, seconds=SECONDS, on_lost=lost.append)
    yield made
    made.stop()


def claim_two(keeper: LeaseKeeper) -> list[Lease]:
    here = make_world()
    for text in ("One", "Two"):
        services.start_chat(here.agent, text=text, by=here.owner)
    owner = keeper._registration.id
    leases = [each.lease for each in claim.claim(owner, lease_seconds=SECONDS, limit=2)]
    assert len(leases) == 2
    for lease in leases:
        keeper.add(lease)
    return leases


def lease_until(lease: Lease) -> object:
    return Conversation.objects.values_list("lease_until", flat=True).get(pk=lease.conversation_id)


@contextmanager
def row_locked(lease: Lease) -> Iterator[None]:
    """Lock the row, like a process that stands still in a transaction."""
    with psycopg.connect(**connection.get_connection_params()) as other:
        row = "SELECT 1 FROM conversations_conversation WHERE id = %s FOR UPDATE"
        other.execute(row, [lease.conversation_id])
        yield


def test_lease_keeper_loses_only_the_lease_that_another_worker_has_taken(keeper, lost):
    gone, kept = claim_two(keeper)
    Conversation.objects.filter(pk=gone.conversation_id).update(lease_owner="another")
    before = lease_until(kept)
    keeper.start()
    wait_until(lambda: lost, 10)
    wait_until(lambda: lease_until(kept) > before, 10)
    assert lost == [gone]


@pytest.mark.postgres
def test_lease_keeper_loses_only_the_lease_whose_row_is_locked(keeper, lost):
    stuck, other = claim_two(keeper)
    before = lease_until(other)
    with row_locked(stuck):
        keeper.start()
        wait_until(lambda: lost, 9)
        assert lease_until(other) > before
        assert lost == [stuck]
