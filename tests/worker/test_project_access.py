"""A running agent's way to its project: by its lease only, and to the end even if it is stopped."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connections

from paca.conversations import services
from paca.conversations.models import Conversation
from paca.conversations.store import Fenced
from paca.projects.models import KeyedWrite, Member, Task
from paca.projects.services import tasks
from paca.projects.tools import access as tool_access
from paca.projects.tools.base import Caller
from paca.worker import claim
from paca.worker.agent_tasks import read_open_tasks
from paca.worker.database import Database
from paca.worker.project_access import RunProjectAccess
from tests.support.world import World, make_world

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def claimed(world: World) -> claim.Claimed:
    services.start_chat(world.agent, text="Hello", by=world.owner)
    (taken,) = claim.claim("one", lease_seconds=60, limit=1)
    return taken


@pytest.fixture
def access(claimed: claim.Claimed) -> Iterator[RunProjectAccess]:
    database = Database()
    yield RunProjectAccess(claimed.lease, claimed.rows.agent.pk, database)
    database.close()
    connections.close_all()


def create_task(caller: Caller) -> str:
    return tasks.create(caller.project, title="New", by=caller.member).key


def write(access: RunProjectAccess) -> str:
    return asyncio.run(access.write("c1", "tasks:write", create_task))


def test_worker_with_the_lease_writes_once(access: RunProjectAccess) -> None:
    assert [write(access), write(access)] == ["HARB-1", "HARB-1"]
    assert asyncio.run(access.find_result("c1")) == "HARB-1"
    assert Task.objects.count() == 1


def test_open_tasks_are_those_of_the_agent_that_are_not_done(
    access: RunProjectAccess, world: World
) -> None:
    assert asyncio.run(read_open_tasks(access)) == ""
    mine = tasks.create(world.project, title="Mine", by=world.owner)
    tasks.create(world.project, title="Of nobody", by=world.owner)
    done = tasks.create(world.project, title="Done", by=world.owner)
    for task in (mine, done):
        task.assignees.add(Member.objects.get(agent=world.agent))
    done.status = world.project.statuses.get(category="done")
    done.save()
    told = asyncio.run(read_open_tasks(access))
    assert told.splitlines()[0] == "Your open tasks in this project:"
    assert [line.split()[0] for line in told.splitlines()[1:]] == [mine.key]


@pytest.mark.parametrize(
    "taken",
    [{"lease_owner": "two", "lease_epoch": 9}, {"lease_epoch": 9}, {"lease_owner": "two"}],
)
def test_superseded_worker_writes_nothing(
    access: RunProjectAccess, claimed: claim.Claimed, taken: dict[str, Any]
) -> None:
    Conversation.objects.filter(pk=claimed.lease.conversation_id).update(**taken)
    with pytest.raises(Fenced):
        write(access)
    assert (Task.objects.count(), KeyedWrite.objects.count()) == (0, 0)


def test_worker_of_a_deleted_conversation_writes_nothing(
    access: RunProjectAccess, claimed: claim.Claimed
) -> None:
    Conversation.objects.filter(pk=claimed.lease.conversation_id).update(
        deleted_at=claimed.turn_started_at
    )
    with pytest.raises(Fenced):
        write(access)
    assert Task.objects.count() == 0


def test_write_that_is_stopped_goes_to_its_end_and_gives_its_text(
    access: RunProjectAccess,
) -> None:
    async def stop_meanwhile() -> str:
        begun, may_end = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def act(caller: Caller) -> str:
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(may_end.wait(), loop).result()
            return create_task(caller)

        writing = asyncio.create_task(access.write("c1", "tasks:write", act))
        await begun.wait()
        for _ in range(3):
            writing.cancel()
            await asyncio.sleep(0)
        may_end.set()
        return await writing

    assert asyncio.run(stop_meanwhile()) == "HARB-1"
    assert Task.objects.count() == 1


def test_error_of_the_database_reaches_the_run(
    access: RunProjectAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a result for the model it would say that nothing was written, which nobody knows."""

    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(tool_access.KeyedWrite.objects, "create", fail)
    with pytest.raises(OperationalError):
        write(access)
    assert Task.objects.count() == 0
