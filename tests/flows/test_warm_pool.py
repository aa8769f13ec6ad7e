"""The warm pool: each sandbox goes to one conversation, and no sandbox is left behind."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async
from django.core.management import call_command
from django.db.models.functions import Now

from paca.conversations import deletion, services
from paca.conversations.models import ReadySandbox, Sandbox
from paca.ops import dashboard, sandbox_factory
from paca.sandbox.base import IdlePolicy, SandboxFile, SandboxSpec
from paca.sandbox.docker import container
from paca.sandbox.docker.backend import Docker
from paca.sandbox.docker.warm_sandboxes import WarmSandboxes
from paca.sandbox.manager import DockerAddress
from paca.worker.database import Database
from paca.worker.sandboxes.sweeper import Sweeper, SweepResult
from tests.support import docker_backend
from tests.support.docker_proxy import DockerProxy
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says
from tests.support.warm_pool_process import WarmPoolProcess
from tests.support.world import make_world

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
def flow_with_warm_pool(size: int, folder: Path, **options) -> Iterator[Flow]:
    """A flow whose worker keeps so many sandboxes ready. Its containers and volumes are removed at the end."""
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
    with flow_with_warm_pool(1, tmp_path) as found:
        yield found


@pytest.fixture
def backend(tmp_path: Path) -> Docker:
    return docker_backend.make(tmp_path)


def wait_until_ready(flow: Flow, count: int = 1, *, other_than: str = "") -> list[str]:
    """Wait until the warm pool of the worker has so many sandboxes; returns their volumes."""

    def found() -> list[str]:
        return [
            each.volume
            for each in flow.worker._worker._warm_pool._ready
            if each.volume != other_than
        ]

    return wait_until(lambda: len(found()) >= count and found(), SLOW, lambda: str(found()))


def containers(backend: Docker) -> list[str]:
    return sorted(each["Names"][0] for each in backend.inventory.list_containers())


def volumes(backend: Docker) -> set[str]:
    return set(backend.list_workspaces().values())


def volume_of(conversation: ObservedConversation) -> str:
    return Sandbox.objects.get(conversation=conversation.id).volume


def sweep(flow: Flow, *, idle: float = 60) -> SweepResult:
    """Sweep once, as a worker does every ten seconds."""
    database = Database()
    try:
        sweeper = Sweeper("", database, flow.sandboxes(), IdlePolicy(idle, 60))
        return asyncio.run(sweeper.sweep(set()))
    finally:
        database.close()


# --- the end of an installation -------------------------------------------------------------------


async def leave_one_of_each(backend: Docker, conversation: UUID) -> None:
    """What a killed worker leaves: a warm sandbox, a conversation in one, a volume of skills alone."""
    warm = WarmSandboxes(backend)
    taken = await warm.create(SandboxSpec(UUID(int=0)), warm.new_volume(), owner="dead")
    assert await warm.assign(taken, conversation)
    await database_sync_to_async(Sandbox.objects.create)(
        conversation_id=conversation, backend="docker", volume=taken.volume, last_used_at=Now()
    )
    left = await warm.create(SandboxSpec(UUID(int=0)), warm.new_volume(), owner="dead")
    left.attachment.close()

    async def read_files() -> tuple[SandboxFile, ...]:
        return (SandboxFile("a/SKILL.md", b"x"),)

    with_skills = SandboxSpec(uuid4(), read_files=read_files)
    sandbox = await backend.open(with_skills, epoch=1)
    await sandbox.detach()
    name = container.container_name(backend.inventory.install_id, with_skills.conversation_id)
    await backend.engine.call(lambda client: client.remove_container(name, force=True))


def test_reap_sandboxes_leaves_nothing_of_an_installation_on_docker(
    transactional_db, tmp_path, backend, settings, monkeypatch
):
    monkeypatch.setattr(sandbox_factory, "install_id", lambda: backend.inventory.install_id)
    settings.PACA_DATA_DIR, settings.PACA_SANDBOX = tmp_path, "docker"
    settings.AGENT_SANDBOX_IMAGE = docker_backend.IMAGE
    here = make_world()
    started = services.start_chat(here.agent, text="Go", by=here.owner)
    asyncio.run(leave_one_of_each(backend, started.conversation_id))
    filters = {"label": f"{container.INSTALL_LABEL}={backend.inventory.install_id}"}

    def labelled() -> list[str]:
        found = backend.engine.call_sync(lambda client: client.volumes(filters=filters))
        return [each["Name"] for each in found["Volumes"] or ()]

    def reap(*options: str) -> str:
        output = StringIO()
        call_command("reap_sandboxes", "--all", *options, stdout=output)
        return output.getvalue()

    try:
        assert len(labelled()) == 4
        assert "3 sandboxes with their files" in reap()
        assert "3 sandboxes were removed" in reap("--yes")
        assert (labelled(), containers(backend)) == ([], [])
    finally:
        asyncio.run(_remove_all(backend))


# --- a conversation takes one -----------------------------------------------------------------------------------------


def test_warm_pool_gives_its_sandbox_to_a_conversation_and_makes_another(flow, backend):
    (volume,) = wait_until_ready(flow)
    conversation = flow.ask("Write", WRITE)
    assert volume_of(conversation) == volume
    assert not conversation.has_event("sandbox.lost")
    (following,) = wait_until_ready(flow, other_than=volume)
    flow.ask("Read", READ, after=conversation)
    assert conversation.outputs[1].startswith("x\n")
    assert len(conversation.event_data("sandbox.started")) == 1
    assert wait_until_ready(flow) == [following], "a conversation with a sandbox takes no other"
    assert dashboard.installation_figures().sandboxes["docker", "ready"] == 1
    assert_replay_matches(conversation)


def test_warm_pool_sandbox_uses_the_git_identity_of_its_agent(transactional_db, tmp_path, backend):
    identity = {"git_name": "Rosa Parks", "git_email": "rosa@example.org"}
    commit = "git init -q . && git commit -q --allow-empty -m x && git log --format='%an %ce'"
    with flow_with_warm_pool(1, tmp_path, **identity) as flow:
        (volume,) = wait_until_ready(flow)
        conversation = flow.ask("Commit", [calls(bash=commit), says("Done.")])
        assert volume_of(conversation) == volume
        assert conversation.outputs[0].startswith("Rosa Parks rosa@example.org\n")


@pytest.mark.parametrize(
    "agent", [{"sandbox_life": "persistent"}, {"sandbox_memory_mib": 256}, {"sandbox_cpus": 0.5}]
)
def test_warm_pool_is_not_used_for_an_agent_with_other_sandbox_settings(
    transactional_db, tmp_path, backend, agent
):
    with flow_with_warm_pool(1, tmp_path, **agent) as flow:
        ready = wait_until_ready(flow)
        conversation = flow.ask("Write", WRITE)
        assert volume_of(conversation) == ""
        assert wait_until_ready(flow) == ready


def test_warm_pool_gives_one_sandbox_to_one_of_two_conversations(flow, backend):
    (volume,) = wait_until_ready(flow)
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
    (volume,) = wait_until_ready(flow)
    name = f"paca-{backend.inventory.install_id}-ready-{volume}"
    backend.engine.call_sync(lambda client: client.kill(name))
    conversation = flow.ask("Write", WRITE)
    assert conversation.outputs[0].startswith("done\n")
    assert not conversation.has_event("sandbox.lost")
    assert len(conversation.event_data("sandbox.started")) == 1
    wait_until(lambda: not any(name in each for each in containers(backend)), SLOW)
    wait_until_ready(flow, other_than=volume)


def test_warm_pool_replaces_sandboxes_of_an_old_image(flow, backend, monkeypatch):
    (old,) = wait_until_ready(flow)

    async def another(_: WarmSandboxes) -> str:
        return "sha256:another"

    monkeypatch.setattr(WarmSandboxes, "image_id", another)
    (new,) = wait_until_ready(flow, other_than=old)
    wait_until(lambda: old not in volumes(backend), SLOW)
    assert wait_until_ready(flow) == [new]


# --- files ------------------------------------------------------------------------------------------


def end_sandbox(flow: Flow, conversation: ObservedConversation) -> None:
    """Sweep the sandbox as one that was last used an hour ago."""
    flow.stop_worker()
    Sandbox.objects.filter(conversation=conversation.id).update(
        last_used_at=Now() - timedelta(hours=1)
    )
    # Docker keeps it for two seconds after an attachment.
    wait_until(lambda: sweep(flow).ended, SLOW)


def test_warm_pool_sandbox_that_has_ended_comes_back_to_its_files(flow, backend):
    wait_until_ready(flow)
    conversation = flow.ask("Write", WRITE)
    volume = volume_of(conversation)
    end_sandbox(flow, conversation)
    assert containers(backend) == []
    assert volumes(backend) == {volume}
    flow.start_worker()
    wait_until_ready(flow)
    flow.ask("Read", READ, after=conversation)
    assert conversation.outputs[1].startswith("x\n")
    assert volume_of(conversation) == volume
    assert_replay_matches(conversation)


def test_warm_pool_volume_wins_over_a_container_without_a_row(flow, backend):
    """A worker made a container in the volume named after the conversation, and died before it recorded it."""
    (volume,) = wait_until_ready(flow)
    left, replies = threading.Event(), [*WRITE, *READ]

    def reply(_):
        assert left.wait(SLOW)
        return replies.pop(0)

    flow.model.script(reply)
    conversation = flow.begin("Write")
    asyncio.run(_open_and_detach(backend, conversation.id))
    left.set()
    assert flow.wait_until_idle(conversation, SLOW) == "finished/answered"
    assert volume_of(conversation) == volume
    end_sandbox(flow, conversation)
    flow.start_worker()
    flow.ask("Read", after=conversation)
    assert conversation.outputs[1].startswith("x\n")
    assert_replay_matches(conversation)


async def _open_and_detach(backend: Docker, conversation_id: UUID) -> None:
    sandbox = await backend.open(SandboxSpec(conversation_id), epoch=1)
    await sandbox.detach()


def test_warm_pool_volume_is_removed_with_the_files_of_its_conversation(flow, backend):
    conversations = []
    for each in ("freed", "deleted", "kept"):
        wait_until_ready(flow, other_than=volume_of(conversations[-1]) if conversations else "")
        conversations.append(flow.ask(each, WRITE))
    freed, deleted, kept = conversations
    assert all(map(volume_of, conversations))
    left = volume_of(kept)
    end_sandbox(flow, freed)
    deletion.delete_files(freed.row, by=flow.world.owner)
    deletion.delete(deleted.row, by=flow.world.owner)
    sweep(flow)
    assert volumes(backend) == {left}
    assert freed.event_data("sandbox.removed")[-1] == {"kept": False}
    flow.start_worker()
    wait_until_ready(flow)
    flow.ask("Read", [calls(bash="ls | wc -l"), says("Nothing.")], after=freed)
    assert freed.outputs[1].startswith("0\n")


def test_sweep_removes_only_volumes_without_a_row(flow, backend):
    wait_until_ready(flow)
    conversation = flow.ask("Write", WRITE)
    following = wait_until_ready(flow, other_than=volume_of(conversation))
    assert sweep(flow).workspaces == 0
    assert volumes(backend) == {volume_of(conversation), *following}
    flow.stop_worker()
    orphan = flow.sandboxes().warm_sandboxes.new_volume()
    labels = {"paca.managed": "true", "paca.install": backend.inventory.install_id}
    backend.engine.call_sync(lambda client: client.create_volume(orphan, labels=labels))
    assert sweep(flow).workspaces == 1
    assert volumes(backend) == {volume_of(conversation)}


# --- the worker ends -------------------------------------------------------------------------------------------


def test_warm_pool_is_removed_when_its_worker_drains(transactional_db, tmp_path, backend):
    with flow_with_warm_pool(2, tmp_path) as flow:
        wait_until_ready(flow, 2)
        flow.stop_worker()
        assert containers(backend) == []
        assert volumes(backend) == set()
        assert not ReadySandbox.objects.exists()


def test_warm_pool_of_a_killed_worker_is_removed_by_another(flow, tmp_path, backend):
    flow.stop_worker()
    with WarmPoolProcess(tmp_path, size=2) as process:
        process.wait_for(2)
        process.kill()
    assert len(containers(backend)) >= 2  # it may have begun another one
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
    with WarmPoolProcess(tmp_path, size=1, killed_at=point) as process:
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
    """A sweep has deleted its row. The worker notices before it writes into the sandbox."""
    (volume,) = wait_until_ready(flow)
    ReadySandbox.objects.all().delete()
    conversation = flow.ask("Write", WRITE)
    assert volume_of(conversation) != volume
    assert conversation.outputs[0].startswith("done\n")
    wait_until(lambda: volume not in volumes(backend), 60)


# --- when it cannot be filled -------------------------------------------------------------------------


def test_warm_pool_is_refilled_after_the_daemon_came_back(transactional_db, tmp_path, backend):
    with (
        DockerProxy(tmp_path) as proxy,
        flow_with_warm_pool(1, tmp_path, docker=DockerAddress(proxy.address)) as flow,
    ):
        (lost,) = wait_until_ready(flow)
        proxy.cut()
        wait_until(lambda: flow.worker._worker._warm_pool._ready[0].lost, SLOW)
        proxy.restore()
        (volume,) = wait_until_ready(flow, other_than=lost)
        conversation = flow.ask("Write", WRITE)
        assert volume_of(conversation) == volume
        assert lost not in volumes(backend)


def test_warm_pool_is_not_filled_on_a_full_disk(transactional_db, tmp_path, monkeypatch, backend):
    asked, has_space = [], False

    def has_disk_space() -> bool:
        asked.append(has_space)
        return has_space

    monkeypatch.setattr("paca.worker.main.has_disk_space", has_disk_space)
    with flow_with_warm_pool(1, tmp_path) as flow:
        wait_until(lambda: len(asked) > 2, SLOW)
        assert not ReadySandbox.objects.exists()
        assert not any("-ready-" in name for name in containers(backend))
        has_space = True
        wait_until_ready(flow)


def test_warm_pool_has_no_effect_with_bubblewrap_and_the_log_says_so(
    transactional_db, tmp_path, caplog
):
    with flow_with_warm_pool(1, tmp_path, sandbox="bubblewrap") as flow:
        conversation = flow.ask("Write", WRITE)
        assert conversation.outputs[0].startswith("done\n")
        wait_until(lambda: "SANDBOX_POOL_SIZE has no effect" in caplog.text, SLOW)
