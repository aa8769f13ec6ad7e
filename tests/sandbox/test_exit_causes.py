"""Exit causes: the end of a sandbox is noticed at once, and its cause is reported."""

import asyncio
import contextlib
import os
import signal
import time
import uuid

import pytest

from paca.engine.workspace import SandboxGone
from paca.sandbox.base import SandboxSpec
from paca.sandbox.docker import container_exit
from paca.sandbox.docker.backend import Docker
from paca.sandbox.exit_cause import ExitKind, classify_exit
from tests.sandbox.conftest import SandboxHandle, only_docker, wait_for_exit
from tests.support import docker_backend, runners
from tests.support.promises import EXIT_CAUSE_SECONDS, kept
from tests.support.waiting import until

pytestmark = [pytest.mark.service, pytest.mark.anyio]
FILL_ALL_MEMORY = "for d in /tmp /run ~ /dev/shm; do head -c 99M /dev/zero > $d/full; done"


async def wait_until_lost(handle: SandboxHandle) -> None:
    """Wait until the worker notices the end."""
    async with asyncio.timeout(120):
        await handle.sandbox.wait_until_lost()


async def test_a_running_sandbox_has_no_exit_cause(backend, handle):
    assert await backend.find_exit_cause(handle.spec.conversation_id) is None
    await handle.sandbox.detach()
    assert await backend.find_exit_cause(handle.spec.conversation_id, just_lost=True) is None


async def test_a_killed_sandbox_is_noticed_within_two_seconds_with_its_exit_code(backend, handle):
    pid = runners.pid(backend, handle.spec.conversation_id)
    with kept(EXIT_CAUSE_SECONDS):
        os.kill(pid, signal.SIGKILL)
        await wait_until_lost(handle)
        cause = await backend.find_exit_cause(handle.spec.conversation_id, just_lost=True)
    assert (cause.kind, cause.exit_code) == (ExitKind.KILLED, 137)
    assert "killed from outside" in cause.sentence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make control groups")
async def test_a_sandbox_out_of_memory_has_that_exit_cause(backend, open_sandbox):
    handle = await open_sandbox(memory_mib=64)
    with contextlib.suppress(SandboxGone):
        # Commands are ended first: only the runner's own memory can end the sandbox.
        for size in range(1, 20):
            await handle.bash(FILL_ALL_MEMORY)
            await handle.write("large.txt", b"x" * (size << 20))
    await wait_until_lost(handle)
    cause = await backend.find_exit_cause(handle.spec.conversation_id, just_lost=True)
    assert (cause.kind, cause.exit_code) == (ExitKind.OUT_OF_MEMORY, 137)


def reported_out_of_memory(backend: Docker, conversation_id: uuid.UUID) -> list[bytes]:
    """The lacks of memory in this sandbox of which Docker has heard."""
    container = docker_backend.described(backend, conversation_id)["Id"]
    asked = {"since": 0, "until": time.time(), "filters": {"container": container, "event": "oom"}}
    return backend.engine.call_sync(lambda client: list(client.events(**asked)))


@only_docker
async def test_a_kill_is_not_attributed_to_an_earlier_lack_of_memory(
    backend, open_sandbox, monkeypatch
):
    """Docker's own flag attributes it wrongly."""
    # The lack of memory just before the end may be its cause: here none of this test is that late.
    monkeypatch.setattr(container_exit, "OOM_EVENT_SECONDS", 0.0)
    handle = await open_sandbox(memory_mib=64)
    assert (await handle.bash("python3 -c 'x = bytearray(10**9)'")).cause == "out_of_memory"
    await until(lambda: reported_out_of_memory(backend, handle.spec.conversation_id))
    os.kill(runners.pid(backend, handle.spec.conversation_id), signal.SIGKILL)
    await wait_until_lost(handle)
    assert (
        await backend.find_exit_cause(handle.spec.conversation_id, just_lost=True)
    ).kind == ExitKind.KILLED


async def test_a_sandbox_that_ends_by_itself_is_retired(tmp_path, another_backend):
    backend, spec = another_backend(tmp_path, idle_seconds=0.5), SandboxSpec(uuid.uuid4())
    sandbox = await backend.open(spec, epoch=1)
    await sandbox.detach()
    cause = await wait_for_exit(backend, spec.conversation_id)
    assert (cause.kind, cause.exit_code) == (ExitKind.RETIRED, 0)
    await backend.remove(spec.conversation_id)


async def test_a_sandbox_without_a_trace_was_removed(backend, handle):
    await handle.sandbox.end()
    assert (await backend.find_exit_cause(handle.spec.conversation_id)).kind == ExitKind.REMOVED


def test_a_full_disk_is_recognized_from_the_last_output():
    assert classify_exit(
        1, out_of_memory=False, last_output="write: No space left on device"
    ).kind == (ExitKind.DISK_FULL)
    assert (
        classify_exit(1, out_of_memory=False, last_output="something else").kind == ExitKind.EXITED
    )
