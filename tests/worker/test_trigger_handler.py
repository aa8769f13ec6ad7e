"""The worker stores external triggers, and tells the bus whether it accepted, rejected or kept each."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from django.db import OperationalError, connections

from paca.bus.base import EntryResult, EntryStatus
from paca.worker.database import Database
from paca.worker.external_triggers import ExternalTriggerHandler
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def handle() -> Iterator[Callable[[dict[str, str]], EntryResult]]:
    database = Database()
    yield lambda fields: ExternalTriggerHandler(database, lambda: 1).handle("1-0", fields)
    database.close()


def test_external_trigger_of_unknown_type_is_rejected_with_the_reason(handle):
    result = handle({"type": "agent.dance"})
    assert result.status is EntryStatus.REJECTED
    assert result.reason.startswith("type is 'agent.dance'")
    assert result.code == "trigger_refused"


def test_external_trigger_that_is_accepted_names_its_conversation(handle):
    here, conversation = make_world(), uuid4()
    result = handle(
        {
            "type": "agent.chat_message",
            "conversation_id": str(conversation).upper(),
            "project_id": str(here.project.pk),
            "agent_id": str(here.agent.pk),
            "actor_member_id": str(here.owner.pk),
            "message": "Hello",
        }
    )
    assert result.status is EntryStatus.ACCEPTED
    assert result.facts == {"conversation_id": str(conversation)}


def test_external_trigger_for_an_unknown_conversation_fails_and_may_be_retried(handle):
    unknown = "0b6e7f0a-0000-4000-8000-000000000000"
    assert handle({"type": "agent.stop", "conversation_id": unknown}).status is EntryStatus.FAILED


def refuse_connection(*_: object) -> None:
    raise OperationalError("away")


def test_external_trigger_is_retried_later_while_the_database_is_unavailable(handle, monkeypatch):
    with monkeypatch.context() as without:
        without.setattr(type(connections["default"]), "get_new_connection", refuse_connection)
        result = handle({"type": "agent.stop", "conversation_id": "x"})
    assert result.status is EntryStatus.RETRY_LATER


def test_external_trigger_is_left_by_a_worker_that_has_ended():
    database = Database()
    database.close()
    assert (
        ExternalTriggerHandler(database, lambda: 1).handle("1-0", {"type": "agent.stop"}).status
        is EntryStatus.RETRY_LATER
    )
