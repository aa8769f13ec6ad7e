"""The states of a sandbox: every allowed move works, every other one is refused."""

import re
from itertools import product
from pathlib import Path
from uuid import UUID

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from paca import events
from paca.conversations import sandbox_lifecycle, services, store
from paca.conversations.models import ReadySandbox, Sandbox, SandboxState, Worker
from paca.conversations.models.statuses import (
    SANDBOX_MOVES,
    STORED_SANDBOX_STATES,
    IllegalStatusMove,
)
from tests.support import world

pytestmark = pytest.mark.django_db

ABSENT, READY = SandboxState.ABSENT, SandboxState.READY
RUNNING, ENDED = SandboxState.RUNNING, SandboxState.ENDED
VOLUME = "paca-tests-ws-ready"
STATES_OF_A_CONVERSATION = (ABSENT, *STORED_SANDBOX_STATES)


@pytest.fixture
def conversation_id() -> UUID:
    here = world.make_world()
    return services.start_chat(here.agent, text="Hello", by=here.owner).conversation_id


def put_into(conversation_id: UUID, state: SandboxState) -> None:
    if state is not ABSENT:
        Sandbox.objects.create(
            conversation_id=conversation_id,
            backend="none",
            boot_id="a",
            state=state,
            last_used_at=timezone.now(),
        )


def state_of(conversation_id: UUID) -> SandboxState:
    row = Sandbox.objects.filter(conversation=conversation_id).first()
    return SandboxState(row.state) if row else ABSENT


def make_ready() -> None:
    worker = Worker.objects.create(
        id="w", host="h", pid=1, process_started="1", concurrency=1, heartbeat_at=timezone.now()
    )
    sandbox_lifecycle.register_ready(VOLUME, worker_id=worker.id)


@pytest.mark.parametrize(
    ("current", "to"),
    list(product(STATES_OF_A_CONVERSATION, (*STATES_OF_A_CONVERSATION, READY))),
)
def test_sandbox_of_a_conversation_moves_only_as_the_table_allows(conversation_id, current, to):
    put_into(conversation_id, current)
    if to in SANDBOX_MOVES[current] and to is not READY:
        sandbox_lifecycle.move(conversation_id, to)
        without_row = (current, to) == (ABSENT, RUNNING)
        assert state_of(conversation_id) is (ABSENT if without_row else to)
        return
    with pytest.raises(IllegalStatusMove) as refused:
        sandbox_lifecycle.move(conversation_id, to)
    assert to.value in refused.value.detail
    assert state_of(conversation_id) is current


@pytest.mark.parametrize("current", STATES_OF_A_CONVERSATION)
def test_sandbox_of_a_conversation_is_started_only_as_the_table_allows(conversation_id, current):
    put_into(conversation_id, current)
    facts = {"backend": "docker", "boot_id": "b", "at": timezone.now()}
    if RUNNING in SANDBOX_MOVES[current]:
        sandbox_lifecycle.start(conversation_id, **facts)
        row = Sandbox.objects.get(conversation=conversation_id)
        assert (row.state, row.backend, row.boot_id) == (RUNNING, "docker", "b")
        assert row.last_used_at == facts["at"]
        return
    with pytest.raises(IllegalStatusMove):
        sandbox_lifecycle.start(conversation_id, **facts)
    assert state_of(conversation_id) is current


def test_sandbox_without_a_row_is_resumed_without_one(conversation_id):
    store.append(conversation_id, events.SandboxResumed(boot_id="a"))
    assert state_of(conversation_id) is ABSENT


def test_sandbox_of_the_warm_pool_only_gets_a_conversation_or_goes_away():
    assert {to for to in SandboxState if to in SANDBOX_MOVES[READY]} == {ENDED, ABSENT}


def test_sandbox_of_the_warm_pool_that_is_taken_out_can_be_removed(conversation_id):
    make_ready()
    assert sandbox_lifecycle.remove_from_pool(VOLUME)
    assert not ReadySandbox.objects.exists()
    assert not sandbox_lifecycle.assign_ready(conversation_id, VOLUME)


def test_sandbox_of_the_warm_pool_is_assigned_once(conversation_id):
    make_ready()
    assert sandbox_lifecycle.assign_ready(conversation_id, VOLUME)
    assert state_of(conversation_id) is ENDED
    assert not ReadySandbox.objects.exists()
    assert not sandbox_lifecycle.assign_ready(conversation_id, VOLUME)
    assert not sandbox_lifecycle.remove_from_pool(VOLUME), "its volume belongs to a conversation"


def test_sandbox_of_the_warm_pool_is_not_assigned_to_a_conversation_with_a_sandbox(conversation_id):
    make_ready()
    put_into(conversation_id, SandboxState.PAUSED)
    with pytest.raises(IllegalStatusMove):
        sandbox_lifecycle.assign_ready(conversation_id, VOLUME)
    assert ReadySandbox.objects.exists()


@pytest.mark.parametrize("state", ["", "gone", *SandboxState.values])
def test_database_refuses_a_sandbox_state_that_is_not_stored(conversation_id, state):
    put_into(conversation_id, SandboxState.RUNNING)
    rows = Sandbox.objects.filter(conversation=conversation_id)
    if state in STORED_SANDBOX_STATES:
        assert rows.update(state=state)
        return
    with pytest.raises(IntegrityError, match=r"sandbox_state_is_known"), transaction.atomic():
        rows.update(state=state)


def test_sandbox_moves_name_every_state():
    assert set(SANDBOX_MOVES) == set(SandboxState)


QUERY_OF_SANDBOX_ROWS = re.compile(
    r"\b(Ready)?Sandbox\.objects"
    r"|\b(Ready)?Sandbox as\b"  # another name, with which its queries would not be found
    r"|conversations_(ready)?sandbox\b"
    r"|(?<!paca)\.(sandbox|ready_sandboxes)\.(all|create|delete|filter|save|state|update)\b"
)


def test_sandbox_rows_are_moved_by_one_module_and_queried_by_another():
    package = Path(__file__).parents[2] / "paca"
    used_by = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if QUERY_OF_SANDBOX_ROWS.search(path.read_text()) and "migrations" not in path.parts
    }
    assert used_by == {
        "conversations/sandbox_lifecycle.py",
        "conversations/sandbox_queries.py",
    }
