"""A database on a full disk: no run is lost or parked, and the model is not asked again and again."""

import asyncio
import time
from collections.abc import Iterator

import psycopg
import pytest
from django.db import OperationalError

from paca.common import database_errors, disk_space
from paca.conversations import services, store
from paca.conversations.models import Conversation
from paca.worker import claim
from paca.worker.claim import MAX_LOST_WORKERS
from paca.worker.database import Database
from paca.worker.lease import LeaseKeeper
from paca.worker.worker_registry import WorkerRegistration
from tests.support.flow import Flow, assert_replay_matches, wait_until
from tests.support.model_script import says
from tests.support.world import make_world

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def disk_full_error() -> OperationalError:
    error = OperationalError("could not extend file")
    error.__cause__ = psycopg.errors.DiskFull("could not extend file")
    return error


@pytest.fixture(autouse=True)
def forget_full_disk(monkeypatch) -> None:
    """The disk of the database is not full for the tests that follow."""
    monkeypatch.setattr(disk_space, "_full_until", 0.0)


@pytest.fixture
def flow(tmp_path) -> Iterator[Flow]:
    with Flow(tmp_path) as found:
        yield found


@pytest.fixture
def fail_answers(monkeypatch):
    """Makes the disk full for the first answers that are stored, as many as asked for."""

    def fail(times: int) -> list[float]:
        append, failed = store.append, []

        def appending(conversation_id, *entries, **options):
            spoken = any(getattr(each, "type", "") == "agent.message.spoken" for each in entries)
            if spoken and len(failed) < times:
                failed.append(time.monotonic())
                raise disk_full_error()
            return append(conversation_id, *entries, **options)

        monkeypatch.setattr(store, "append", appending)
        return failed

    return fail


def test_run_is_carried_on_however_often_the_disk_was_full(flow, fail_answers, monkeypatch):
    monkeypatch.setattr(disk_space, "FULL_SECONDS", 0.3)
    times = MAX_LOST_WORKERS + 1
    failed = fail_answers(times)
    conversation = flow.begin("Hello", [says("Here.")] * (times + 1))
    assert flow.wait_until_idle(conversation) == "finished/answered"
    assert conversation.answers == ["Here."]
    assert len(flow.model.requests) == len(failed) + 1 == times + 1
    assert all(later - earlier >= 0.3 for earlier, later in zip(failed, failed[1:], strict=False))
    assert_replay_matches(conversation)


def test_claim_waits_after_a_run_found_the_disk_full(flow, fail_answers):
    """Another worker would learn of the full disk only after a model call of its own."""
    fail_answers(100)
    conversation = flow.begin("Hello", [says("Here.")] * 2)
    wait_until(lambda: conversation.row.status == "running" and not conversation.row.lease_owner)
    assert claim.claim("another", lease_seconds=30, limit=10) == []
    assert conversation.row.lost_workers == 0
    assert len(flow.model.requests) == 1


def test_database_call_reports_a_full_disk_after_its_caller_was_cancelled():
    database = Database()

    def write() -> None:
        time.sleep(0.1)
        raise disk_full_error()

    async def cancelled() -> None:
        writing = asyncio.create_task(database.call(write))
        await asyncio.sleep(0.05)
        writing.cancel()
        await writing

    with pytest.raises(OperationalError) as raised:
        asyncio.run(cancelled())
    database.close()
    assert database_errors.note_disk_full(raised.value)


def test_lease_keeper_reports_a_full_disk_to_the_whole_process(monkeypatch):
    def beat(_: WorkerRegistration) -> None:
        raise disk_full_error()

    monkeypatch.setattr(WorkerRegistration, "heartbeat", beat)
    keeper = LeaseKeeper(WorkerRegistration(1), seconds=0.1, on_lost=lambda _: None)
    keeper.start()
    try:
        wait_until(disk_space.database_is_full)
    finally:
        keeper.stop()


def test_claim_of_a_conversation_released_with_a_pause_waits_for_its_end():
    here = make_world()
    services.start_chat(here.agent, text="Go", by=here.owner)
    (claimed,) = claim.claim("one", lease_seconds=30, limit=1)
    claim.release(claimed.lease, pause_seconds=2)
    assert claim.claim("two", lease_seconds=30, limit=1) == []
    wait_until(lambda: claim.claim("two", lease_seconds=30, limit=1), 20)
    assert Conversation.objects.get().lost_workers == 0
