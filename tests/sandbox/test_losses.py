"""A sandbox that comes to an end is noticed at once, and what it died of is told."""

import asyncio
import contextlib
import os
import signal
import time
import uuid

import pytest

from paca.engine.workspace import SandboxGone
from paca.sandbox.base import SandboxSpec
from paca.sandbox.exit_cause import ExitKind, classify_exit
from tests.sandbox.conftest import Hands, only_docker
from tests.support import runners

pytestmark = [pytest.mark.service, pytest.mark.anyio]
FILL_ALL_MEMORY = "for d in /tmp /run ~ /dev/shm; do head -c 99M /dev/zero > $d/full; done"


async def noticed(hands: Hands) -> float:
    """Seconds until the worker knows of the end."""
    began = time.monotonic()
    async with asyncio.timeout(20):
        await hands.sandbox.wait_until_lost()
    return time.monotonic() - began


async def test_one_that_lives_is_not_lost(backend, hands):
    assert await backend.exit_cause(hands.spec.conversation_id) is None
    await hands.sandbox.detach()
    assert await backend.exit_cause(hands.spec.conversation_id, just_lost=True) is None


async def test_one_that_is_killed_is_noticed_within_two_seconds_with_its_exit_code(backend, hands):
    os.kill(runners.pid(backend, hands.spec.conversation_id), signal.SIGKILL)
    assert await noticed(hands) < 2
    loss = await backend.exit_cause(hands.spec.conversation_id, just_lost=True)
    assert (loss.kind, loss.exit_code) == (ExitKind.KILLED, 137)
    assert "killed from outside" in loss.sentence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make the groups that count")
async def test_one_that_dies_for_lack_of_memory_says_so(backend, open_sandbox):
    hands = await open_sandbox(memory_mib=64)
    with contextlib.suppress(SandboxGone):
        for size in range(1, 20):  # what it runs dies first: only its own needs can end it
            await hands.bash(FILL_ALL_MEMORY)
            await hands.put("large.txt", b"x" * (size << 20))
    await noticed(hands)
    loss = await backend.exit_cause(hands.spec.conversation_id, just_lost=True)
    assert (loss.kind, loss.exit_code) == (ExitKind.OUT_OF_MEMORY, 137)


@only_docker
async def test_a_kill_is_not_put_down_to_a_command_that_was_hungry_before(
    backend, open_sandbox, monkeypatch
):
    """Docker's own flag would say so."""
    hands = await open_sandbox(memory_mib=64)
    assert (await hands.bash("python3 -c 'x = bytearray(10**9)'")).cause == "out_of_memory"
    await asyncio.sleep(2.5)
    os.kill(runners.pid(backend, hands.spec.conversation_id), signal.SIGKILL)
    await noticed(hands)
    assert (
        await backend.exit_cause(hands.spec.conversation_id, just_lost=True)
    ).kind == ExitKind.KILLED


async def test_one_that_ends_in_its_time_is_no_accident(tmp_path, another_backend):
    backend, spec = another_backend(tmp_path, idle_seconds=0.5), SandboxSpec(uuid.uuid4())
    sandbox = await backend.open(spec, epoch=1)
    await sandbox.detach()
    deadline = time.monotonic() + 20
    while (loss := await backend.exit_cause(spec.conversation_id)) is None:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    assert (loss.kind, loss.exit_code) == (ExitKind.RETIRED, 0)
    await backend.delete(spec.conversation_id)


async def test_one_without_a_trace_was_removed(backend, hands):
    await hands.sandbox.destroy()
    assert (await backend.exit_cause(hands.spec.conversation_id)).kind == ExitKind.REMOVED


def test_a_full_disk_is_named_from_the_last_words():
    assert classify_exit(
        1, out_of_memory=False, last_output="write: No space left on device"
    ).kind == (ExitKind.DISK_FULL)
    assert (
        classify_exit(1, out_of_memory=False, last_output="something else").kind == ExitKind.EXITED
    )
