"""Pausing: a paused sandbox keeps its processes and files, and resumes when it is opened."""

import asyncio
import time
import uuid
from dataclasses import replace

import pytest

from paca.engine.workspace import Command, SandboxGone
from paca.sandbox.base import IdlePolicy, SandboxSpec
from tests.sandbox.conftest import SandboxHandle, only_bubblewrap, wait_for_exit

pytestmark = [pytest.mark.service, pytest.mark.anyio]
TICKING = "(while :; do date +%s.%N >> ticks; sleep 0.05; done) >/dev/null 2>&1 & echo begun"
FORKING = "for i in 1 2 3; do (while :; do /bin/true; done) & done; echo begun"


def until_more_ticks_than(number: int) -> str:
    return f"until [ $(wc -l < ticks) -gt {number} ]; do sleep 0.05; done"


async def ticks_of(handle: SandboxHandle) -> list[float]:
    """The Unix times at which the loop of this sandbox has ticked."""
    return [float(line) for line in (await handle.bash("cat ticks")).output.splitlines()]


async def test_a_paused_sandbox_stops_its_processes_and_resumes_them(backend, open_sandbox):
    first, control = await open_sandbox(), await open_sandbox()
    conversation = first.spec.conversation_id
    for each in (first, control):
        await each.bash(TICKING)
        await each.bash(until_more_ticks_than(0))
    await first.sandbox.detach()
    assert await backend.pause(conversation)
    assert await backend.pause(conversation), "pausing twice is no error"
    paused_at = time.time()
    await control.bash(until_more_ticks_than(len(await ticks_of(control)) + 5))
    resumed_at = time.time()
    again = await open_sandbox(conversation=conversation, epoch=2)
    assert again.sandbox.resumed
    assert again.sandbox.boot_id == first.sandbox.boot_id
    await again.bash(until_more_ticks_than(len(await ticks_of(again))))
    ticks = await ticks_of(again)
    assert ticks[0] < paused_at
    assert ticks[-1] > resumed_at
    assert [tick for tick in ticks if paused_at < tick < resumed_at] == []


async def test_a_sandbox_that_was_not_paused_is_not_reported_as_resumed(open_sandbox):
    first = await open_sandbox()
    await first.sandbox.detach()
    again = await open_sandbox(conversation=first.spec.conversation_id, epoch=2)
    assert not again.sandbox.resumed


async def test_a_sandbox_that_became_persistent_lasts_as_long_as_its_new_setting(
    another_backend, tmp_path
):
    short_lived = another_backend(tmp_path / "short_lived", idle_seconds=2)
    changed, control = SandboxSpec(uuid.uuid4()), SandboxSpec(uuid.uuid4())
    first = await short_lived.open(changed, epoch=1)
    await first.detach()
    await (await short_lived.open(replace(changed, persistent=True), epoch=2)).detach()
    await (await short_lived.open(control, epoch=1)).detach()
    try:
        await wait_for_exit(short_lived, control.conversation_id)
        again = await short_lived.open(replace(changed, persistent=True), epoch=3)
        assert again.boot_id == first.boot_id, "it was detached before the other"
    finally:
        for spec in (changed, control):
            await short_lived.remove(spec.conversation_id)


async def test_a_paused_sandbox_stops_processes_that_keep_forking(backend, open_sandbox):
    first = await open_sandbox()
    await first.bash(FORKING)
    await first.sandbox.detach()
    assert await backend.pause(first.spec.conversation_id)
    again = await open_sandbox(conversation=first.spec.conversation_id, epoch=2)
    assert (await again.bash("echo alive")).output == "alive\n"


async def test_a_paused_sandbox_can_be_resumed_and_ended(backend, open_sandbox):
    handle = await open_sandbox()
    conversation = handle.spec.conversation_id
    await backend.pause(conversation)
    await backend.resume(conversation)
    assert (await handle.bash("echo awake")).output == "awake\n"
    await handle.write("kept.txt", "kept")
    await handle.sandbox.detach()
    await backend.pause(conversation)
    assert await backend.sweep(set()) == [conversation]
    again = await open_sandbox(conversation=conversation, epoch=2)
    assert not again.sandbox.resumed
    assert (await again.bash("cat kept.txt")).output == "kept"


async def test_a_sandbox_that_does_not_run_cannot_be_paused(backend):
    assert not await backend.pause(uuid.uuid4())
    await backend.resume(uuid.uuid4())


async def test_a_persistent_sandbox_outlasts_its_idle_time_while_paused(tmp_path, another_backend):
    """The runner's clock continues during the pause: it must not end the sandbox when it is resumed."""
    backend = another_backend(tmp_path, idle_seconds=0.5)
    spec, control = SandboxSpec(uuid.uuid4(), persistent=True), SandboxSpec(uuid.uuid4())
    sandbox = await backend.open(spec, epoch=1)
    await sandbox.detach()
    assert await backend.pause(spec.conversation_id)
    await (await backend.open(control, epoch=1)).detach()
    await wait_for_exit(backend, control.conversation_id)
    again = await backend.open(spec, epoch=2)
    assert again.boot_id == sandbox.boot_id
    await again.end(keep_files=False)
    await backend.remove(control.conversation_id)


@only_bubblewrap
async def test_a_sandbox_left_paused_while_in_use_is_opened_again_when_it_does_not_answer(
    backend, open_sandbox, monkeypatch
):
    """A sweeper may die after pausing it and before noticing the worker. Docker sandboxes are pinged anyway."""
    handle = await open_sandbox()
    assert await backend.pause(handle.spec.conversation_id)
    monkeypatch.setattr("paca.sandbox.runner_client.ANSWER_SECONDS", 1)
    with pytest.raises(SandboxGone):
        await handle.bash("echo late")
    assert handle.sandbox.lost
    monkeypatch.undo()
    again = await open_sandbox(conversation=handle.spec.conversation_id, epoch=2)
    assert again.sandbox.boot_id == handle.sandbox.boot_id
    assert (await again.bash("echo alive")).output == "alive\n"


def test_only_a_persistent_sandbox_outlives_its_idle_time():
    idle_policy, conversation = IdlePolicy(10, 100), uuid.uuid4()
    assert idle_policy.unattended_seconds(SandboxSpec(conversation)) == 10
    assert idle_policy.unattended_seconds(SandboxSpec(conversation, persistent=True)) > 110


@only_bubblewrap
async def test_a_paused_sandbox_takes_no_commands_until_it_is_opened(backend, open_sandbox):
    """The control for the other tests: it answers because it is opened."""
    handle, control = await open_sandbox(), await open_sandbox()
    await backend.pause(handle.spec.conversation_id)
    running = asyncio.create_task(handle.sandbox.run(Command("late", shell="echo late")))
    for _ in range(5):
        await control.bash("echo soon")
    assert not running.done()
    await handle.sandbox.detach()
    with pytest.raises(SandboxGone):
        await running
