"""Usage after an update: calls from before it count, and those of workers that were not restarted yet."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from paca.conversations import usage
from paca.conversations.models import Conversation, ModelCall
from paca.conversations.services import model_calls
from paca.conversations.sql_parameters import datetime_parameter, uuid_parameter
from paca.conversations.usage import Period
from paca.projects import permissions
from paca.projects.models import Member, Role
from tests.conversations.leased_conversation import a_conversation
from tests.support.world import make_world

pytestmark = pytest.mark.django_db

EDITOR = SimpleNamespace(connection=connection)


def migration(app: str, name: str) -> Any:
    return import_module(f"paca.{app}.migrations.{name}")


def add_call_of_a_former_worker(conversation: Conversation) -> None:
    """Its statement, as the version before purposes wrote it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO conversations_modelcall (id, conversation_id, turn, attempt, model, status,"
            " input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, epoch, started_at)"
            " VALUES (%s, %s, 1, 1, 'a/b', 'done', 5, 0, 0, 0, 1, %s)",
            [
                uuid_parameter(uuid4()),
                uuid_parameter(conversation.pk),
                datetime_parameter(timezone.now()),
            ],
        )


def calls_of(conversation: Conversation) -> int:
    report = usage.report([conversation.project_id], Period.of(None, None), "agent")
    assert {row.key for row in report.rows} <= {str(conversation.agent_id)}
    return report.total.calls


def test_call_of_a_worker_of_the_former_version_counts_when_its_row_is_completed() -> None:
    conversation = a_conversation()
    add_call_of_a_former_worker(conversation)
    assert calls_of(conversation) == 0
    assert model_calls.complete_rows() == 1
    assert calls_of(conversation) == 1
    assert ModelCall.objects.get().purpose == "turn"
    assert model_calls.complete_rows() == 0


def test_present_calls_get_their_project_batch_by_batch(monkeypatch) -> None:
    conversation = a_conversation()
    for _ in range(5):
        add_call_of_a_former_worker(conversation)
    fill = migration("conversations", "0024_present_calls_get_their_project")
    monkeypatch.setattr(fill, "BATCH", 2)
    fill.fill(apps, EDITOR)
    assert calls_of(conversation) == 5


@pytest.mark.parametrize(
    ("held", "reads"),
    [
        (["conversations:read"], True),
        (["conversations:*"], True),
        (["conversations:read", "usage:read"], True),
        (["*"], True),
        (["conversations:write"], False),
        ([], False),
    ],
)
def test_present_roles_that_read_conversations_read_usage(held: list[str], reads: bool) -> None:
    role = Role.objects.create(project=make_world().project, name="Reviewer", permissions=held)
    migration("projects", "0009_readers_of_conversations_read_usage").add(apps, EDITOR)
    role.refresh_from_db()
    assert permissions.allows(Member(role=role, kind="human"), "usage:read") is reads
    assert len(role.permissions) == len({*role.permissions, *held})
