"""External triggers wait while a disk is full."""

import pytest

from paca.bus.base import EntryStatus
from paca.common import disk_space
from paca.worker.database import Database
from paca.worker.external_triggers import ExternalTriggerHandler
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)


def test_external_trigger_waits_until_the_disk_has_space(monkeypatch):
    """The bus must keep the entry: it is not rejected."""
    here, database = make_world(), Database()
    request = {
        "type": "agent.chat_message",
        "conversation_id": "7d0f1e0a-5b5e-4d5b-9b1e-2f6c3a1d9e77",
        "project_id": str(here.project.pk),
        "agent_id": str(here.agent.pk),
        "actor_member_id": str(here.owner.pk),
        "message": "Hello",
    }
    handler = ExternalTriggerHandler(database, lambda: 1)
    monkeypatch.setattr(disk_space, "_full_until", float("inf"))
    assert handler.handle("1-0", request).status is EntryStatus.RETRY_LATER
    monkeypatch.setattr(disk_space, "_full_until", 0.0)
    assert handler.handle("1-0", request).status is EntryStatus.ACCEPTED
    database.close()
