"""Commands that nobody waits for, on every backend: handed over, looked at, killed, and lost with their sandbox."""

import asyncio

import pytest

from paca.engine.workspace import Command, Superseded

pytestmark = [pytest.mark.service, pytest.mark.anyio]


async def look(handle, call_id="bg"):
    return (await handle.sandbox.look([call_id])).get(call_id)


async def test_a_command_is_handed_over_and_its_end_is_read_later(handle):
    command = Command("bg", shell="echo begun; until [ -e go ]; do sleep 0.02; done; echo ended")
    assert await handle.sandbox.run_for(0, command) is None
    async with asyncio.timeout(120):
        while not (report := await look(handle)).output:  # noqa: ASYNC110 - a state in the sandbox
            await asyncio.sleep(0.01)
    assert (report.ended, report.output) == (False, "begun\n")
    await handle.write("go", "")
    outcome = await handle.sandbox.attach("bg")
    assert (outcome.output, outcome.exit_code) == ("begun\nended\n", 0)
    report = await look(handle)
    assert (report.ended, report.output) == (True, "begun\nended\n")
    assert report.seconds == outcome.seconds


async def test_a_command_that_ends_in_time_gives_its_outcome(handle):
    outcome = await handle.sandbox.run_for(20, Command("bg", shell="echo x; exit 3"))
    assert (outcome.exit_code, outcome.output) == (3, "x\n")
    again = await handle.sandbox.run_for(0, Command("bg", shell="echo x; exit 3"))
    assert again == outcome  # it has ended, so it is not waited for


async def test_a_command_of_another_worker_is_waited_for_as_long_as_is_left(handle, backend):
    """The runner tells how long it has run: a worker that takes over does not begin the wait anew."""
    line = "echo x >> once; until [ -e go ]; do sleep 0.02; done"
    command = Command("bg", shell=line, timeout_seconds=3600)
    assert await handle.sandbox.run_for(0, command) is None
    next_one = await backend.open(handle.spec, epoch=2)
    assert await next_one.run_for(0.2, command) is None
    assert await next_one.read("once") == b"x\n"
    await next_one.kill("bg")
    assert (await next_one.attach("bg")).cause == "cancelled"


async def test_only_known_calls_are_reported(handle):
    assert await handle.sandbox.look(["never"]) == {}


async def test_only_the_end_of_a_long_output_is_reported(handle):
    await handle.bash("seq 100000", call_id="long")
    report = (await handle.sandbox.look(["long"], characters=20))["long"]
    assert report.output.endswith("99999\n100000\n")
    assert len(report.output) == 20


async def test_background_work_survives_that_the_agent_kills_all_its_processes(handle):
    """The runner is process 1: it goes on, and has the end of the command."""
    await handle.sandbox.run_for(0, Command("bg", shell="sleep 3600"))
    await handle.bash("kill -9 -1")
    outcome = await handle.sandbox.attach("bg")
    assert outcome.exit_code == 137


async def test_a_look_attaches_only_to_a_sandbox_that_runs(backend, open_sandbox):
    opened = await open_sandbox(epoch=4)
    await opened.sandbox.run_for(0, Command("bg", shell="sleep 3600"))
    await opened.sandbox.detach()
    found = await backend.attach(opened.spec, epoch=4)
    assert found.boot_id == opened.sandbox.boot_id
    assert not (await found.look(["bg"]))["bg"].ended
    with pytest.raises(Superseded):  # a newer claim has the sandbox
        await backend.attach(opened.spec, epoch=3)
    await found.detach()
    await backend.pause(opened.spec.conversation_id)
    assert await backend.attach(opened.spec, epoch=4) is None
    await backend.resume(opened.spec.conversation_id)
    await found.end()
    assert await backend.attach(opened.spec, epoch=4) is None


async def test_a_run_takes_the_sandbox_over_from_a_look(backend, handle):
    looking = await backend.attach(handle.spec, epoch=1)
    taken = await backend.open(handle.spec, epoch=2)
    with pytest.raises(Superseded):
        await looking.look(["bg"])
    async with asyncio.timeout(120):
        await looking.wait_until_lost()
    assert await taken.look(["bg"]) == {}
