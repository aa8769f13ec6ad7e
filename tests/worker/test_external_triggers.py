"""What a worker answers the bus about an entry: whether it is in, never will be, or not just now."""

from collections.abc import Callable, Iterator

import pytest
from django.db import OperationalError, connections

from paca.bus.base import EntryResult, EntryStatus
from paca.worker.database import Database
from paca.worker.external_triggers import ExternalTriggerHandler

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def take_in() -> Iterator[Callable[[dict[str, str]], EntryResult]]:
    database = Database()
    yield lambda fields: ExternalTriggerHandler(database, lambda: 1).handle("1-0", fields)
    database.close()


def test_what_nobody_can_take_in_is_refused_with_the_reason(take_in):
    result = take_in({"type": "agent.dance"})
    assert result.status is EntryStatus.REJECTED
    assert result.reason.startswith("type is 'agent.dance'")


def test_what_may_come_right_has_failed_for_now(take_in):
    unknown = "0b6e7f0a-0000-4000-8000-000000000000"
    assert take_in({"type": "agent.stop", "conversation_id": unknown}).status is EntryStatus.FAILED


def away(*_: object) -> None:
    raise OperationalError("away")


def test_an_entry_is_no_worse_for_a_database_that_is_away(take_in, monkeypatch):
    with monkeypatch.context() as without:
        without.setattr(type(connections["default"]), "get_new_connection", away)
        result = take_in({"type": "agent.stop", "conversation_id": "x"})
    assert result.status is EntryStatus.RETRY_LATER


def test_a_worker_that_has_ended_takes_nothing_in():
    database = Database()
    database.close()
    assert (
        ExternalTriggerHandler(database, lambda: 1).handle("1-0", {"type": "agent.stop"}).status
        is EntryStatus.RETRY_LATER
    )
