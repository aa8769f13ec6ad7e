"""Sandboxes that stand ready: each becomes one conversation's, and nothing of them is left by anybody."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.db.models.functions import Now

from paca.conversations import deletion
from paca.conversations.models import ReadySandbox, Sandbox
from paca.ops import dashboard
from paca.sandbox.base import IdlePolicy, SandboxSpec
from paca.sandbox.docker.backend import Docker
from paca.sandbox.docker.warm_pool import DockerWarmPool
from paca.sandbox.manager import DockerAddress
from paca.worker.database import Database
from paca.worker.sandboxes.sweeper import Sweeper, SweepResult
from tests.support import docker_backend
from tests.support.docker_proxy import DockerProxy
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says
from tests.support.warm_pool_process import PoolProcess

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.docker,
    pytest.mark.timeout(240),
]
SLOW = 90
WRITE = [calls(bash="echo x > note.txt; echo done"), says("Written.")]
READ = [calls(bash="cat note.txt"), says("Read.")]


@pytest.fixture(autouse=True)
def with_docker() -> None:
    docker_backend.skip_without()


@contextmanager
def pool_of(size: int, folder: Path, **options) -> Iterator[Flow]:
    """A world whose worker keeps so many ready; nothing of it is left on the daemon."""
    flow = Flow(folder, **{"sandbox": "docker", "worker": {"pool_size": size}, **options})
    try:
        with flow:
            yield flow
    finally:
        asyncio.run(_remove_all(docker_backend.make(folder)))


async def _remove_all(backend: Docker) -> None:
    for each in backend.inventory.list_containers():
        await backend.inventory.remove_container(each["Id"])
    for volume in backend.list_workspaces().values():
        await backend.inventory.remove_volume(volume)


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path) -> Iterator[Flow]:
    with pool_of(1, tmp_path) as found:
        yield found


@pytest.fixture
def backend(tmp_path: Path) -> Docker:
    return docker_backend.make(tmp_path)


def ready(flow: Flow, count: int = 1, *, but: str = "") -> list[str]:
    """The volumes of those that the flow's worker can hand out, once there are so many."""

    def found() -> list[str]:
        return [each.volume for each in flow.worker._worker._warm_pool._ready if each.volume != but]

    return wait_until(lambda: len(found()) >= count and found(), SLOW, lambda: str(found()))


def containers(backend: Docker) -> list[str]:
    return sorted(each["Names"][0] for each in backend.inventory.list_containers())


def volumes(backend: Docker) -> set[str]:
    return set(backend.list_workspaces().values())


def volume_of(conversation: ObservedConversation) -> str:
    return Sandbox.objects.get(conversation=conversation.id).volume


def swept(flow: Flow, *, idle: float = 60) -> SweepResult:
    """What a worker does every few seconds, at once."""
    database = Database()
    try:
        sweeper = Sweeper("", database, flow.sandboxes(), IdlePolicy(idle, 60))
        return asyncio.run(sweeper.sweep(set()))
    finally:
        database.close()


# --- taking -----------------------------------------------------------------------------------------


def test_warm_pool_gives_its_sandbox_to_a_conversation_and_makes_another(flow, backend):
    (volume,) = ready(flow)
    conversation = flow.ask("Write", WRITE)
    assert volume_of(conversation) == volume
    assert not conversation.has_event("sandbox.lost")
    (following,) = ready(flow, but=volume)
    flow.ask("Read", READ, after=conversation)
    assert conversation.outputs[1].startswith("x\n")
    assert len(conversation.event_data("sandbox.started")) == 1
    assert ready(flow) == [following], "who has one takes no other"
    assert dashboard.installation_figures().sandboxes["docker", "ready"] == 1
    assert_replay_matches(conversation)


def test_warm_pool_sandbox_uses_the_git_identity_of_its_agent(transactional_db, tmp_path, backend):
    who = {"git_name": "Rosa Parks", "git_email": "rosa@example.org"}
    commit = "git init -q . && git commit -q --allow-empty -m x && git log --format='%an %ce'"
    with pool_of(1, tmp_path, **who) as flow:
        (volume,) = ready(flow)
        conversation = flow.ask("Commit", [calls(bash=commit), says("Done.")])
        assert volume_of(conversation) == volume
        assert conversation.outputs[0].startswith("Rosa Parks rosa@example.org\n")


@pytest.mark.parametrize(
    "agent", [{"sandbox_life": "persistent"}, {"sandbox_memory_mib": 256}, {"sandbox_cpus": 0.5}]
)
def test_warm_pool_is_not_used_for_an_agent_with_other_sandbox_settings(
    transactional_db, tmp_path, backend, agent
):
    with pool_of(1, tmp_path, **agent) as flow:
        standing = ready(flow)
        conversation = flow.ask("Write", WRITE)
        assert volume_of(conversation) == ""
        assert ready(flow) == standing


def test_warm_pool_gives_one_sandbox_to_one_of_two_conversations(flow, backend):
    (volume,) = ready(flow)
    flow.model.script(
        lambda body: [*WRITE][sum(m["role"] == "assistant" for m in body["messages"])]
    )
    both = [flow.begin("one"), flow.begin("two")]
    for conversation in both:
        flow.wait_until_idle(conversation)
        assert conversation.outputs[0].startswith("done\n")
    taken = [volume_of(conversation) for conversation in both]
    assert taken.count(volume) == 1
    assert len(set(taken)) == 2
    names = containers(backend)
    assert all(any(str(conversation.id) in name for name in names) for conversation in both)


def test_warm_pool_replaces_a_sandbox_that_was_killed_from_outside(flow, backend):
    (volume,) = ready(flow)
    name = f"paca-{backend.inventory.install_id}-ready-{volume}"
    backend.engine.call_sync(lambda client: client.kill(name))
    conversation = flow.ask("Write", WRITE)
    assert conversation.outputs[0].startswith("done\n")
    assert not conversation.has_event("sandbox.lost")
    assert len(conversation.event_data("sandbox.started")) == 1
    wait_until(lambda: not any(name in each for each in containers(backend)), SLOW)
    ready(flow, but=volume)


def test_warm_pool_replaces_sandboxes_of_an_old_image(flow, backend, monkeypatch):
    (old,) = ready(flow)

    async def another(_: DockerWarmPool) -> str:
        return "sha256:another"

    monkeypatch.setattr(DockerWarmPool, "image_id", another)
    (new,) = ready(flow, but=old)
    wait_until(lambda: old not in volumes(backend), SLOW)
    assert ready(flow) == [new]


# --- files ------------------------------------------------------------------------------------------


def ended(flow: Flow, conversation: ObservedConversation) -> None:
    """As if it had not been used for an hour, and swept."""
    flow.stop_worker()
    Sandbox.objects.filter(conversation=conversation.id).update(
        last_used_at=Now() - timedelta(hours=1)
    )
    # Not in the first two seconds: somebody may have attached to it in this moment.
    wait_until(lambda: swept(flow).ended, SLOW)


def test_warm_pool_sandbox_that_has_ended_comes_back_to_its_files(flow, backend):
    ready(flow)
    conversation = flow.ask("Write", WRITE)
    volume = volume_of(conversation)
    ended(flow, conversation)
    assert containers(backend) == []
    assert volumes(backend) == {volume}
    flow.start_worker()
    ready(flow)
    flow.ask("Read", READ, after=conversation)
    assert conversation.outputs[1].startswith("x\n")
    assert volume_of(conversation) == volume
    assert_replay_matches(conversation)


def test_warm_pool_volume_wins_over_a_container_without_a_row(flow, backend):
    """It had made a container in the volume of the conversation's name, and died before it said so."""
    (volume,) = ready(flow)
    left, replies = threading.Event(), [*WRITE, *READ]

    def reply(_):
        assert left.wait(SLOW)
        return replies.pop(0)

    flow.model.script(reply)
    conversation = flow.begin("Write")
    asyncio.run(_made_and_left(backend, conversation.id))
    left.set()
    assert flow.wait_until_idle(conversation, SLOW) == "finished/answered"
    assert volume_of(conversation) == volume
    ended(flow, conversation)
    flow.start_worker()
    flow.ask("Read", after=conversation)
    assert conversation.outputs[1].startswith("x\n")
    assert_replay_matches(conversation)


async def _made_and_left(backend: Docker, conversation_id: UUID) -> None:
    sandbox = await backend.open(SandboxSpec(conversation_id), epoch=1)
    await sandbox.detach()


def test_warm_pool_volume_is_removed_with_the_files_of_its_conversation(flow, backend):
    conversations = []
    for each in ("freed", "deleted", "kept"):
        ready(flow, but=volume_of(conversations[-1]) if conversations else "")
        conversations.append(flow.ask(each, WRITE))
    freed, deleted, kept = conversations
    assert all(map(volume_of, conversations))
    left = volume_of(kept)
    ended(flow, freed)
    deletion.delete_files(freed.row, by=flow.world.owner)
    deletion.delete(deleted.row, by=flow.world.owner)
    swept(flow)
    assert volumes(backend) == {left}
    assert freed.event_data("sandbox.removed")[-1] == {"kept": False}
    flow.start_worker()
    ready(flow)
    flow.ask("Read", [calls(bash="ls | wc -l"), says("Nothing.")], after=freed)
    assert freed.outputs[1].startswith("0\n")


def test_sweep_removes_only_volumes_without_a_row(flow, backend):
    ready(flow)
    conversation = flow.ask("Write", WRITE)
    following = ready(flow, but=volume_of(conversation))
    assert swept(flow).workspaces == 0
    assert volumes(backend) == {volume_of(conversation), *following}
    flow.stop_worker()
    orphan = flow.sandboxes().warm_pool.new_volume()
    labels = {"paca.managed": "true", "paca.install": backend.inventory.install_id}
    backend.engine.call_sync(lambda client: client.create_volume(orphan, labels=labels))
    assert swept(flow).workspaces == 1
    assert volumes(backend) == {volume_of(conversation)}


# --- ends -------------------------------------------------------------------------------------------


def test_warm_pool_is_removed_when_its_worker_drains(transactional_db, tmp_path, backend):
    with pool_of(2, tmp_path) as flow:
        ready(flow, 2)
        flow.stop_worker()
        assert containers(backend) == []
        assert volumes(backend) == set()
        assert not ReadySandbox.objects.exists()


def test_warm_pool_of_a_killed_worker_is_removed_by_another(flow, tmp_path, backend):
    flow.stop_worker()
    with PoolProcess(tmp_path, size=2) as process:
        process.wait_for(2)
        process.kill()
    assert len(containers(backend)) == 2
    flow.start_worker()
    mine = wait_until(lambda: flow.worker.id)
    wait_until(
        lambda: (
            set(ReadySandbox.objects.values_list("worker", flat=True)) <= {mine}
            and len(containers(backend)) <= 1
            and len(volumes(backend)) <= 1
        ),
        60,
        lambda: f"{containers(backend)} {volumes(backend)}",
    )


@pytest.mark.parametrize("point", ["before the row", "after the row", "after the name"])
def test_warm_pool_loses_at_most_one_sandbox_if_its_worker_is_killed_meanwhile(
    flow, tmp_path, backend, point
):
    flow.stop_worker()
    flow.model.script(WRITE)
    with PoolProcess(tmp_path, size=1, dies=point) as process:
        (volume,) = process.wait_for(1)
        conversation = flow.begin("Write")
        assert process.wait(SLOW) == -signal.SIGKILL
    assert not conversation.has_event("tool.started")
    row = Sandbox.objects.filter(conversation=conversation.id).first()
    assert (row.volume if row else None) == (None if point == "before the row" else volume)
    flow.start_worker()
    assert flow.wait_until_idle(conversation, SLOW) == "finished/answered"
    assert conversation.outputs[0].startswith("done\n")
    flow.ask("Read", READ, after=conversation)
    assert conversation.outputs[1].startswith("x\n")
    assert (volume_of(conversation) == volume) == (point != "before the row")
    of_it = wait_until(
        lambda: [each for each in containers(backend) if str(conversation.id) in each]
    )
    assert len(of_it) == 1
    name = f"-ready-{volume}"
    wait_until(lambda: not any(name in each for each in containers(backend)), 60)
    wait_until(lambda: (volume in volumes(backend)) == (point != "before the row"), 60)
    assert volume_of(conversation) in volumes(backend) or volume_of(conversation) == ""
    assert_replay_matches(conversation)


def test_warm_pool_sandbox_that_was_given_up_is_not_used(flow, backend):
    """Another sweep has given it up; the worker finds that out before it writes into it."""
    (volume,) = ready(flow)
    ReadySandbox.objects.all().delete()
    conversation = flow.ask("Write", WRITE)
    assert volume_of(conversation) != volume
    assert conversation.outputs[0].startswith("done\n")
    wait_until(lambda: volume not in volumes(backend), 60)


# --- when it cannot be filled -------------------------------------------------------------------------


def test_warm_pool_is_refilled_after_the_daemon_came_back(transactional_db, tmp_path, backend):
    with (
        DockerProxy(tmp_path) as proxy,
        pool_of(1, tmp_path, docker=DockerAddress(proxy.address)) as flow,
    ):
        (lost,) = ready(flow)
        proxy.cut()
        wait_until(lambda: flow.worker._worker._warm_pool._ready[0].lost, SLOW)
        proxy.restore()
        (volume,) = ready(flow, but=lost)
        conversation = flow.ask("Write", WRITE)
        assert volume_of(conversation) == volume
        assert lost not in volumes(backend)


def test_warm_pool_is_not_filled_on_a_full_disk(transactional_db, tmp_path, monkeypatch, backend):
    asked, is_left = [], False

    def has_room() -> bool:
        asked.append(is_left)
        return is_left

    monkeypatch.setattr("paca.worker.main.has_disk_space", has_room)
    with pool_of(1, tmp_path) as flow:
        wait_until(lambda: len(asked) > 2, SLOW)
        assert not ReadySandbox.objects.exists()
        assert not any("-ready-" in name for name in containers(backend))
        is_left = True
        ready(flow)


def test_warm_pool_has_no_effect_with_bubblewrap_and_the_log_says_so(
    transactional_db, tmp_path, caplog
):
    with pool_of(1, tmp_path, sandbox="bubblewrap") as flow:
        conversation = flow.ask("Write", WRITE)
        assert conversation.outputs[0].startswith("done\n")
        wait_until(lambda: "SANDBOX_POOL_SIZE has no effect" in caplog.text, SLOW)
