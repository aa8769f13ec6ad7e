"""A paused sandbox stands still with all it has, and goes on when it is opened; nothing is lost by it."""

import asyncio
import itertools
import uuid
from dataclasses import replace

import pytest

from paca.engine.workspace import Command, SandboxGone
from paca.sandbox.base import IdlePolicy, SandboxSpec
from tests.sandbox.conftest import only_bubblewrap

pytestmark = [pytest.mark.service, pytest.mark.anyio]
TICKING = "(while :; do date +%s.%N >> ticks; sleep 0.05; done) >/dev/null 2>&1 & echo begun"
FORKING = "for i in 1 2 3; do (while :; do /bin/true; done) & done; echo begun"


async def test_what_runs_stands_still_and_goes_on_where_it_stood(backend, open_sandbox):
    first = await open_sandbox()
    conversation = first.spec.conversation_id
    await first.bash(TICKING)
    await first.bash("until [ -s ticks ]; do sleep 0.05; done")
    await first.sandbox.detach()
    assert await backend.pause(conversation)
    assert await backend.pause(conversation), "that it is so is no failure"
    await asyncio.sleep(1.5)
    again = await open_sandbox(conversation=conversation, epoch=2)
    assert again.sandbox.resumed
    assert again.sandbox.boot_id == first.sandbox.boot_id
    before = len((await again.bash("cat ticks")).output.splitlines())
    await again.bash(f"until [ $(wc -l < ticks) -gt {before} ]; do sleep 0.05; done")
    ticks = [float(line) for line in (await again.bash("cat ticks")).output.splitlines()]
    gaps = [later - earlier for earlier, later in itertools.pairwise(ticks)]
    assert any(gap > 1.2 for gap in gaps), "it ticks before and after, and not while it is paused"


async def test_one_that_was_not_paused_is_not_said_to_be_resumed(open_sandbox):
    first = await open_sandbox()
    await first.sandbox.detach()
    again = await open_sandbox(conversation=first.spec.conversation_id, epoch=2)
    assert not again.sandbox.resumed


async def test_one_whose_agent_has_become_persistent_lasts_as_long_as_it_now_shall(
    another_backend, tmp_path
):
    hasty = another_backend(tmp_path / "hasty", idle_seconds=2)
    changed, control = SandboxSpec(uuid.uuid4()), SandboxSpec(uuid.uuid4())
    await (await hasty.open(changed, epoch=1)).detach()
    await (await hasty.open(replace(changed, persistent=True), epoch=2)).detach()
    await (await hasty.open(control, epoch=1)).detach()
    try:
        for _ in range(300):
            if await hasty.exit_cause(control.conversation_id) is not None:
                break
            await asyncio.sleep(0.2)
        else:
            pytest.fail("the control does not end")
        await asyncio.sleep(1)
        assert await hasty.exit_cause(changed.conversation_id) is None, (
            "it was left before the other"
        )
    finally:
        for spec in (changed, control):
            await hasty.delete(spec.conversation_id)


async def test_what_forks_without_an_end_stands_still_as_well(backend, open_sandbox):
    first = await open_sandbox()
    await first.bash(FORKING)
    await first.sandbox.detach()
    assert await backend.pause(first.spec.conversation_id)
    again = await open_sandbox(conversation=first.spec.conversation_id, epoch=2)
    assert (await again.bash("echo alive")).output == "alive\n"


async def test_a_paused_one_can_be_woken_and_ended(backend, open_sandbox):
    hands = await open_sandbox()
    conversation = hands.spec.conversation_id
    await backend.pause(conversation)
    await backend.resume(conversation)
    assert (await hands.bash("echo awake")).output == "awake\n"
    await hands.put("kept.txt", "kept")
    await hands.sandbox.detach()
    await backend.pause(conversation)
    assert await backend.sweep(set()) == [conversation]
    again = await open_sandbox(conversation=conversation, epoch=2)
    assert not again.sandbox.resumed
    assert (await again.bash("cat kept.txt")).output == "kept"


async def test_where_nothing_runs_nothing_is_paused(backend):
    assert not await backend.pause(uuid.uuid4())
    await backend.resume(uuid.uuid4())


async def test_a_persistent_one_outlasts_its_idle_time_while_it_is_paused(
    tmp_path, another_backend
):
    """Its own clock runs on: it must not end in the moment in which it is resumed."""
    backend = another_backend(tmp_path, idle_seconds=0.5)
    spec = SandboxSpec(uuid.uuid4(), persistent=True)
    sandbox = await backend.open(spec, epoch=1)
    await sandbox.detach()
    assert await backend.pause(spec.conversation_id)
    await asyncio.sleep(1.5)
    again = await backend.open(spec, epoch=2)
    assert again.boot_id == sandbox.boot_id
    await again.destroy(keep_files=False)


@only_bubblewrap
async def test_one_that_is_left_paused_while_it_is_in_use_goes_on_when_it_is_asked_in_vain(
    backend, open_sandbox, monkeypatch
):
    """Whoever paused it may have died before he saw that a worker has it. Docker's are asked all the time."""
    hands = await open_sandbox()
    assert await backend.pause(hands.spec.conversation_id)
    monkeypatch.setattr("paca.sandbox.runner_client.ANSWER_SECONDS", 1)
    with pytest.raises(SandboxGone):
        await hands.bash("echo late")
    assert hands.sandbox.lost
    monkeypatch.undo()
    again = await open_sandbox(conversation=hands.spec.conversation_id, epoch=2)
    assert again.sandbox.boot_id == hands.sandbox.boot_id
    assert (await again.bash("echo alive")).output == "alive\n"


def test_only_a_persistent_one_waits_longer_than_it_may_idle():
    idle_policy, conversation = IdlePolicy(10, 100), uuid.uuid4()
    assert idle_policy.orphan_seconds(SandboxSpec(conversation)) == 10
    assert idle_policy.orphan_seconds(SandboxSpec(conversation, persistent=True)) > 110


@only_bubblewrap
async def test_a_paused_one_does_not_take_commands_until_it_is_opened(backend, open_sandbox):
    """The control: that it answers after all is the opening's doing."""
    hands = await open_sandbox()
    await backend.pause(hands.spec.conversation_id)
    running = asyncio.create_task(hands.sandbox.run(Command("late", shell="echo late")))
    await asyncio.sleep(0.5)
    assert not running.done()
    await hands.sandbox.detach()
    with pytest.raises(SandboxGone):
        await running
