"""Journeys in Docker sandboxes: leftovers, a killed container, and commands over their limits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from paca.conversations import deletion, services
from paca.conversations.models import Conversation, Sandbox
from paca.sandbox.base import SandboxSpec
from paca.sandbox.docker import volume_copy
from paca.sandbox.docker.backend import Docker
from paca.sandbox.docker.container import volume_name
from paca.sandbox.docker.engine import DockerRefused
from tests.support import docker_backend
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.docker,
    pytest.mark.timeout(240),
]
# The first model call of a process loads a provider's library, which is slow on a busy machine.
SLOW = 90


@pytest.fixture(autouse=True)
def with_docker() -> None:
    docker_backend.skip_without()


@contextmanager
def docker_flow(folder: Path, **options) -> Iterator[Flow]:
    """A flow whose containers and volumes are removed at the end."""
    flow = Flow(folder, sandbox="docker", **options)
    try:
        with flow:
            yield flow
    finally:
        conversations = set(Conversation.objects.values_list("pk", flat=True))
        asyncio.run(_delete_sandboxes(docker_backend.make(folder), conversations))


async def _delete_sandboxes(backend: Docker, conversations: set[UUID]) -> None:
    for conversation_id in {*backend.list_started(), *backend.list_workspaces(), *conversations}:
        await backend.remove(conversation_id)


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path) -> Iterator[Flow]:
    with docker_flow(tmp_path) as found:
        yield found


def test_docker_conversation_works_in_its_container_and_comes_back_to_its_files(flow):
    first = flow.ask("Make it", [calls(bash="id -u; echo x > note.txt"), says("Made.")])
    assert first.outputs[0].startswith("10001")
    (started,) = first.event_data("sandbox.started")
    assert started["backend"] == "docker"
    flow.ask("Is it there?", [calls(bash="cat note.txt"), says("Yes.")], after=first)
    assert first.outputs[1].startswith("x")
    assert len(first.event_data("sandbox.started")) == 1, "the container is used again"
    assert_replay_matches(first)


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[Docker]:
    """Another installation on the same daemon, with one container."""
    backend = docker_backend.make(tmp_path / "of another installation", idle_seconds=600)
    stranger = SandboxSpec(uuid4())
    asyncio.run(_open_and_detach(backend, stranger))
    yield backend
    asyncio.run(backend.remove(stranger.conversation_id))


# --- T-39: containers that pile up ------------------------------------------------------------------


def test_docker_sweep_leaves_exactly_the_containers_that_rows_name(
    transactional_db, tmp_path, foreign
):
    """T-39: two are finished, one is deleted, one lost its worker, one was just used, one has no row."""
    with docker_flow(tmp_path) as flow:
        flow.stop_worker()
        # Long enough that only a sweep ends them, and not their own idle time.
        backend = docker_backend.make(tmp_path, idle_seconds=600)
        process = WorkerProcess(tmp_path, sandbox="docker")
        with process:
            done = [says("Done.")]
            write = calls(bash="echo x > note.txt")
            finished = [flow.begin("number 0", [write, *done])]
            flow.wait_until_idle(finished[0], SLOW)
            finished.append(flow.ask("number 1", [write, *done]))
            deleted = flow.ask("to be deleted", [write, *done])
            left = flow.ask("just used", [write, *done])
            killed = flow.begin("under way", [calls(bash="echo x; sleep 8; echo y"), *done])
            wait_until(lambda: killed.has_event("tool.started"))
            wait_until(lambda: docker_backend.runs(backend, killed.id, "sleep 8"))
            process.kill()
            orphan = SandboxSpec(uuid4())
            asyncio.run(_open_and_detach(backend, orphan))
            assert _running(backend) >= {killed.id, orphan.conversation_id}
            deletion.delete(deleted.row, by=flow.world.owner)
            _set_last_use(finished, timedelta(hours=-1))
            _set_last_use([left], timedelta(hours=1))  # still recent on a slow machine
            process.start()
            wait_until(
                lambda: _running(backend) == {left.id, killed.id},
                30,
                lambda: str(_running(backend)),
            )
            wait_until(lambda: not Sandbox.objects.filter(conversation=deleted.id).exists())
            assert not _has_volume(backend, deleted.id)
            assert all(
                _has_volume(backend, conversation.id) for conversation in (*finished, left, killed)
            )
            assert [conversation.event_data("sandbox.removed") for conversation in finished] == [
                [{"kept": True}]
            ] * 2
            assert len(_running(foreign)) == 1
            flow.wait_until_idle(killed)
            assert killed.outputs[0].startswith("x\ny\n"), "it was attached to, not repeated"


def _set_last_use(conversations: list[ObservedConversation], when: timedelta) -> None:
    rows = Sandbox.objects.filter(
        conversation__in=[conversation.id for conversation in conversations]
    )
    rows.update(last_used_at=timezone.now() + when)


async def _open_and_detach(backend, spec: SandboxSpec) -> None:
    sandbox = await backend.open(spec, epoch=1)
    await sandbox.detach()


def _running(backend) -> set[UUID]:
    return set(backend.list_started())


def _has_volume(backend: Docker, conversation_id: UUID) -> bool:
    name = volume_name(backend.inventory.install_id, conversation_id)
    try:
        backend.engine.call_sync(lambda client: client.inspect_volume(name))
    except DockerRefused:
        return False
    return True


# --- a container that is killed ----------------------------------------------------------------------


TWO_COMMANDS = [
    calls(bash="echo x >> once.txt; echo begun; sleep 5; echo ended"),
    calls(bash="cat once.txt"),
    says("Once."),
]


def test_docker_container_killed_from_outside_is_replaced_and_its_loss_shown_at_once(
    flow, tmp_path
):
    backend = docker_backend.make(tmp_path)
    conversation = flow.begin("Go", TWO_COMMANDS)
    wait_until(lambda: conversation.has_event("tool.started"))
    wait_until(lambda: docker_backend.runs(backend, conversation.id, "sleep 5"))
    name = docker_backend.described(backend, conversation.id)["Id"]
    backend.engine.call_sync(lambda client: client.kill(name))
    wait_until(lambda: conversation.has_event("sandbox.lost"))
    flow.wait_until_idle(conversation)
    (lost,) = conversation.event_data("sandbox.lost")
    assert (lost["end"], lost["exit_code"]) == ("killed", 137)
    assert lost["cause"] in conversation.event_data("tool.outcome_unknown")[0]["output"]
    assert len(conversation.event_data("sandbox.started")) == 2
    assert conversation.outputs[0].startswith("x\n[exit 0")
    assert_replay_matches(conversation)


# --- T-59: memory, processes, disk space ----------------------------------------------------------------------


def test_docker_command_over_its_limit_ends_alone_and_the_model_reads_the_limit(
    transactional_db, tmp_path
):
    """T-59: out of memory, a fork bomb, a full /tmp; the files and the other conversation survive."""
    hungry = [
        calls(bash="echo x > kept.txt; python3 -c 'x=bytearray(10**9)'"),
        # Not the bomb that forks itself: the rules would ask a person. Small processes, or memory runs out first.
        calls(bash="for i in $(seq 9999); do sleep 20 & done; sleep 20"),
        calls(bash="cat /dev/zero > /tmp/full"),
        calls(bash="cat kept.txt"),
        says("Done."),
    ]
    modest = [calls(bash="sleep 4; echo fine"), says("Fine.")]

    def answer(body: dict):
        script = modest if "modest" in str(body["messages"][0]) else hungry
        return script[sum(message["role"] == "assistant" for message in body["messages"])]

    with docker_flow(tmp_path, sandbox_memory_mib=256) as flow:
        flow.model.script(answer)
        other, conversation = flow.begin("modest"), flow.begin("hungry")
        flow.wait_until_idle(conversation, 60)
        memory, bomb, disk, kept = conversation.event_data("tool.returned")
        assert memory["cause"] == "out_of_memory"
        assert memory["exit_code"] == 137
        assert "out of memory (the limit is 256 MiB)" in memory["output"]
        assert bomb["cause"] in {"too_many_processes", ""}
        assert "No space left" in disk["output"]
        assert kept["output"].startswith("x\n")
        assert len(conversation.event_data("sandbox.started")) == 1
        flow.wait_until_idle(other)
        assert other.answers == ["Fine."]
        (undisturbed,) = other.event_data("tool.returned")
        assert (undisturbed["exit_code"], undisturbed["failed"]) == (0, False)


# --- forks ------------------------------------------------------------------------------------------


def test_docker_fork_gets_a_volume_with_a_copy_of_the_files(flow):
    origin = flow.ask(
        "Make it", [calls(bash="echo x > note.txt; ln -s /etc/passwd p"), says("Made.")]
    )
    made = services.fork(origin.row, seq=origin.row.last_seq, by=flow.world.owner)
    fork = ObservedConversation(made.pk)
    flow.ask("What is there?", [calls(bash="cat note.txt; readlink p"), says("x")], after=fork)
    assert fork.outputs[-1].startswith("x\n/etc/passwd\n")
    (told,) = fork.event_data("sandbox.files_copied")
    assert (told["backend"], told["files"], told["commands_since"], told["error"]) == (
        "docker",
        2,
        0,
        "",
    )
    deletion.delete(origin.row, by=flow.world.owner)
    flow.ask("And now?", [calls(bash="echo y >> note.txt; cat note.txt"), says("y")], after=fork)
    assert fork.outputs[-1].startswith("x\ny\n")
    assert_replay_matches(fork)


def test_docker_copy_of_a_killed_worker_is_made_again_and_used_once(transactional_db, tmp_path):
    """The worker dies while its container copies: the log does not know of that copy, so it is not used."""
    with docker_flow(tmp_path) as flow:
        flow.stop_worker()
        backend = docker_backend.make(tmp_path, idle_seconds=600)
        process = WorkerProcess(tmp_path, sandbox="docker")
        with process:
            many = "for n in $(seq 20000); do : > f$n; done"
            origin = flow.begin("Make them", [calls(bash=many), says("Made.")])
            flow.wait_until_idle(origin, SLOW)
            flow.model.script([calls(bash="ls | wc -l"), says("Many.")])
            made = services.fork(
                origin.row, seq=origin.row.last_seq, by=flow.world.owner, text="How many?"
            )
            fork = ObservedConversation(made.pk)
            wait_until(lambda: _copies(backend, fork.id), SLOW)
            process.kill()
            assert not fork.has_event("sandbox.files_copied")
            process.start()
            assert flow.wait_until_idle(fork, SLOW) == "finished/answered"
        assert fork.outputs[-1].startswith("20000\n")
        (told,) = fork.event_data("sandbox.files_copied")
        assert (told["files"], told["error"]) == (20000, "")
        assert_replay_matches(fork)


def _copies(backend: Docker, conversation_id: UUID) -> bool:
    """Whether a container copies files for the conversation."""
    try:
        mounts = docker_backend.described(backend, conversation_id)["Mounts"]
    except DockerRefused:
        return False
    return any(mount["Destination"] == volume_copy.ORIGIN for mount in mounts)
