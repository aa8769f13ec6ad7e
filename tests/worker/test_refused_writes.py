"""A write that is refused ends the run: its claim is released, and no person is asked to correct it."""

import asyncio
import contextlib

import pytest
from django.db import IntegrityError

from paca import events
from paca.conversations import services, store
from paca.conversations.models import Conversation, Turn
from paca.conversations.models.statuses import IllegalStatusMove
from paca.sandbox.manager import SandboxManager
from paca.worker import claim, turns
from paca.worker.database import Database
from paca.worker.turns import ConversationRun, WorkerResources
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def claimed() -> claim.Claimed:
    here = make_world()
    services.start_chat(here.agent, text="Go", by=here.owner)
    (taken,) = claim.claim("w", lease_seconds=60, limit=1)
    return taken


@pytest.fixture
def run_claimed(claimed, tmp_path, monkeypatch):
    """Runs the claimed conversation with this engine, and gives its row afterwards."""

    def run(engine) -> Conversation:
        monkeypatch.setattr(turns, "run_until_done", engine)
        database = Database()
        manager = SandboxManager(kind="none", data_dir=tmp_path, install_id="tests")

        async def run_to_end() -> None:
            await ConversationRun(claimed, WorkerResources(database, manager)).answer_inbox()

        try:
            asyncio.run(run_to_end())
        finally:
            database.close()
        return Conversation.objects.get()

    return run


def test_conversation_run_releases_its_claim_if_its_turn_has_ended_already(run_claimed):
    async def engine(turn, services):
        await services.log.commit()
        await asyncio.to_thread(Turn.objects.update, status="finished")
        return turns.TurnOutcome("finished", "answered")

    row = run_claimed(engine)
    assert (row.status, row.lease_owner, row.lost_workers) == ("running", "", 1)


def test_illegal_status_move_is_shown_as_a_failure_of_the_server(run_claimed):
    async def engine(turn, services):
        raise IllegalStatusMove

    row = run_claimed(engine)
    assert (row.status, row.reason) == ("failed", "internal")


def test_commit_after_a_refused_one_is_refused_too_and_the_turn_ends_as_failed(
    run_claimed, monkeypatch
):
    """Also if a task beside the engine made the refused commit: its entries must not vanish unnoticed."""
    append = store.append

    def refuse(conversation_id, *entries, **options):
        if any(getattr(entry, "type", "") == "agent.sandbox.lost" for entry in entries):
            raise IntegrityError("refused")
        return append(conversation_id, *entries, **options)

    monkeypatch.setattr(store, "append", refuse)
    after = []

    async def engine(turn, services):
        with contextlib.suppress(IntegrityError):  # as the task that watches over the sandbox does
            await services.log.commit(events.SandboxLost(cause="killed"))
        after.append("reached")
        await services.log.commit(events.ThoughtRecorded(call_id="c", text="more"))
        after.append("not reached")
        return turns.TurnOutcome("finished", "answered")

    row = run_claimed(engine)
    assert (row.status, row.reason, after) == ("failed", "internal", ["reached"])
