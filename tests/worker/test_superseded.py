"""A run that has lost its lease or its database writes nothing more and deletes nothing."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, OperationalError, connections

from paca import events
from paca.bus import get_bus
from paca.conversations import services
from paca.conversations.models import Conversation
from paca.conversations.models.statuses import IllegalStatusMove
from paca.conversations.store import Lease
from paca.engine.workspace import Superseded
from paca.sandbox.base import SandboxSpec
from paca.sandbox.manager import SandboxManager
from paca.worker import claim
from paca.worker.database import Database
from paca.worker.run_log import CachedHistory, RunLog
from paca.worker.sandboxes.run_sandbox import RunSandbox
from paca.worker.stream_buffer import StreamBuffer
from tests.support.flow import ObservedConversation
from tests.support.world import make_world

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


class FailingOnce(Database):
    """Its first call fails, as if the connection had broken."""

    failed = False
    error: Exception = OperationalError("server closed the connection unexpectedly")

    async def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not self.failed:
            self.failed = True
            raise self.error
        return await super().call(function, *args, **kwargs)


@pytest.fixture
def lease() -> Lease:
    here = make_world()
    services.start_chat(here.agent, text="Hello", by=here.owner)
    (taken,) = claim.claim("one", lease_seconds=60, limit=1)
    return taken.lease


@pytest.fixture(params=[Database, FailingOnce])
def database(request) -> Iterator[Database]:
    made = request.param()
    yield made
    made.close()
    connections.close_all()


def make_log(lease: Lease, database: Database) -> RunLog:
    stream_buffer = StreamBuffer(lease.conversation_id, get_bus())
    return RunLog(lease, CachedHistory(), (), database=database, stream_buffer=stream_buffer)


def stored_titles(conversation_id: UUID) -> list[str]:
    changes = ObservedConversation(conversation_id).event_data("title.changed")
    return [data["title"] for data in changes if data["title"] in ("first", "second")]


def test_run_log_fails_for_all_tasks_after_the_database_failed_for_one(lease, database):
    """Otherwise the run would go on without the entries of the failed commit."""
    log = make_log(lease, database)

    async def commits() -> list[bool]:
        failed = []
        for title in ("first", "second"):
            try:
                await log.commit(events.TitleChanged(title=title))
                failed.append(False)
            except OperationalError:
                failed.append(True)
        return failed

    fails = isinstance(database, FailingOnce)
    assert asyncio.run(commits()) == [fails, fails]
    assert stored_titles(lease.conversation_id) == ([] if fails else ["first", "second"])
    if fails:
        with pytest.raises(OperationalError):
            log.take_pending()


@pytest.mark.parametrize("error", [IllegalStatusMove(), IntegrityError()])
def test_run_log_fails_for_all_tasks_after_a_commit_was_refused(lease, error):
    """The entries of the refused commit may be those of several tasks. Only the turn's end is stored."""
    database = FailingOnce()
    database.error = error
    log = make_log(lease, database)

    async def commit_twice() -> None:
        log.add(events.TitleChanged(title="first"))
        for _ in range(2):
            with pytest.raises(type(error)):
                await log.commit(events.TitleChanged(title="second"))

    asyncio.run(commit_twice())
    database.close()
    assert stored_titles(lease.conversation_id) == []
    assert log.take_pending() == ()


@pytest.mark.parametrize("superseded", [False, True])
def test_run_sandbox_of_a_superseded_worker_deletes_no_files(lease, tmp_path, superseded):
    """They may be new files of the worker that has taken over."""
    database, conversation_id = Database(), lease.conversation_id
    note = tmp_path / "workspaces" / str(conversation_id) / "note.txt"
    note.parent.mkdir(parents=True)
    note.touch()
    manager = SandboxManager(kind="bubblewrap", data_dir=tmp_path, install_id="any")
    spec = SandboxSpec(conversation_id, reset_files=True)
    sandboxes = RunSandbox(
        spec, "", manager=manager, log=make_log(lease, database), database=database
    )
    if superseded:
        Conversation.objects.filter(pk=conversation_id).update(lease_owner="two", lease_epoch=9)

    async def open_sandbox() -> None:
        try:
            await sandboxes.workspace()
        finally:
            await sandboxes.detach()
            await manager.sweep(set())

    try:
        if superseded:
            with pytest.raises(Superseded):
                asyncio.run(open_sandbox())
        else:
            asyncio.run(open_sandbox())
    finally:
        database.close()
    assert note.exists() == superseded
