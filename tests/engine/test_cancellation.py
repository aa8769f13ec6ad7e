"""Stop, interrupt and messages in the middle of a turn, and a worker that dies."""

import asyncio

import pytest

from paca import events
from paca.engine.llm import retrying
from paca.engine.workspace import Command, CommandOutcome, SandboxBroken, Superseded
from tests.engine.world import World, any_command
from tests.support.fake_sandbox_workspace import RunningCommand
from tests.support.model_script import Scripted, calls, fails, says

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def no_wait_before_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_WAIT_SECONDS", 0.0)


# --- stop ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["hang", "stall"])
async def test_stop_closes_the_stream_of_the_model(fault):
    world = World(fails(fault))
    world.send("Hello")
    await world.llm.streaming.wait()
    world.stop()
    await world.wait_until_idle()
    assert (world.status, world.llm.closed) == ("stopped/by_person", 1)
    (used,) = world.find(events.UsageRecorded)
    assert used.outcome == "cancelled"
    await world.ask("Still there?", says("Yes."))
    assert world.answers == ["Yes."]
    assert len(world.llm.requests) == 2


async def test_stop_keeps_the_fact_that_shown_text_was_discarded():
    world = World(fails("stall"))
    world.send("Hello")
    await world.wait_until(lambda: world.log.live)
    world.stop()
    await world.wait_until_idle()
    (discarded,) = world.find(events.MessageDiscarded)
    assert discarded.cause == "cancelled"
    assert world.answers == []


async def test_stop_kills_the_running_command_and_keeps_its_output():
    command = RunningCommand("begun\n")
    world = World(calls(bash="serve"), commands={"serve": command})
    world.send("Go")
    await command.is_started.wait()
    world.stop()
    await world.wait_until_idle()
    (returned,) = world.results
    assert returned.cause == "cancelled"
    assert returned.output == "Stopped by Ada. Output until then:\nbegun"
    assert world.sandbox.current.killed == [returned.call_id]


async def test_stop_gives_each_open_call_one_result():
    """T-17."""
    command = RunningCommand()
    replies = calls(bash=["echo 0", "serve", "echo 1"])
    world = World(replies, commands={**any_command(), "serve": command})
    world.send("Go")
    await command.is_started.wait()
    world.stop()
    await world.wait_until_idle()
    assert [each.cause for each in world.results] == ["", "cancelled", "cancelled"]
    assert world.results[-1].output == "Not run. Stopped by Ada."
    assert world.commands == ["echo 0", "serve"]
    await world.ask("go on", says("Good."))
    assert world.answers == ["Good."]


async def test_stop_keeps_the_outcome_of_a_call_that_ended_in_that_moment():
    def stop_and_end(command: Command) -> CommandOutcome:
        world.stop()
        return CommandOutcome(0, "whole\n", 0.1)

    world = World(calls(bash="quick"), commands={"quick": stop_and_end})
    await world.ask("Go")
    (returned,) = world.results
    assert (returned.cause, returned.exit_code) == ("", 0)
    assert "whole" in returned.output
    assert world.status == "stopped/by_person"


async def test_stop_ends_the_wait_before_a_retry():
    world = World(fails("429", retry_after=60))
    world.send("Go")
    await world.wait_until(lambda: world.find(events.ModelRetried))
    world.stop()
    await world.wait_until_idle()
    assert world.status == "stopped/by_person"
    assert [used.outcome for used in world.find(events.UsageRecorded)] == ["failed", "cancelled"]


async def test_stop_lets_a_later_turn_carry_on_by_continue():
    world = World(fails("hang"))
    world.send("Go")
    await world.llm.streaming.wait()
    world.stop()
    await world.wait_until_idle()
    world.llm.replies.append(says("Here we are."))
    await world.proceed()
    assert world.answers == ["Here we are."]


# --- messages and interrupts --------------------------------------------------------------------


async def test_message_in_a_running_turn_is_read_at_the_next_step():
    command = RunningCommand()
    world = World(calls(bash="serve"), says("Both done."), commands={"serve": command})
    world.send("Go")
    await command.is_started.wait()
    world.send("And also this")
    command.finish()
    await world.wait_until_idle()
    assert world.answers == ["Both done."]
    assert "And also this" in world.last_request()
    assert world.turns == 1


async def test_message_during_the_final_reply_gets_a_turn_of_its_own():
    world = World(says("First answer."), says("Second answer."))
    world.send("One")
    await world.llm.streaming.wait()
    world.send("Two")
    await world.wait_until_idle()
    assert world.answers == ["First answer.", "Second answer."]
    assert world.turns == 2
    assert [message.role for message in world.llm.requests[-1].messages] == [
        "user",
        "assistant",
        "user",
    ]


async def test_message_during_a_failed_attempt_is_read_by_the_next_attempt():
    def message_then_fault(request: object) -> Scripted:
        world.send("Two")
        return fails("529")

    world = World(message_then_fault, says("Both."))
    await world.ask("One")
    assert world.answers == ["Both."]
    assert "Two" in world.last_request()


async def test_message_in_the_wait_before_a_retry_gets_a_turn_of_its_own():
    world = World(fails("429", retry_after=0.01), says("First."), says("Second."))
    world.send("One")
    await world.wait_until(lambda: world.find(events.ModelRetried))
    world.send("Two")
    await world.wait_until_idle()
    assert world.answers == ["First.", "Second."]
    assert "Two" in world.last_request()


async def test_interrupt_ends_the_turn_and_begins_the_next():
    command = RunningCommand()
    world = World(calls(bash="serve"), says("Changed course."), commands={"serve": command})
    world.send("Go")
    await command.is_started.wait()
    world.interrupt("No, do this instead")
    await world.wait_until_idle()
    assert world.answers == ["Changed course."]
    ends = [(turn.status, turn.reason) for turn in world.find(events.TurnFinished)]
    assert ends == [("stopped", "interrupted"), ("finished", "answered")]
    assert "Interrupted by Ada." in world.outputs[0]
    assert "No, do this instead" in world.last_request()


async def test_interrupted_model_reads_what_people_saw_of_its_reply():
    world = World(fails("stall"), says("Instead."))
    world.send("One")
    await world.wait_until(lambda: world.log.live)
    world.interrupt("Stop that")
    await world.wait_until_idle()
    (discarded,) = world.find(events.MessageDiscarded)
    assert discarded.text.startswith("Let me")
    seen, said = world.llm.requests[-1].messages[-2:]
    assert str(discarded.text) in str(seen)
    assert "Ada interrupted you here" in str(said)
    assert world.answers == ["Instead."]


# --- a worker that dies, a sandbox that is lost -------------------------------------------------


async def test_next_worker_attaches_to_a_running_command_and_never_repeats_it():
    command = RunningCommand("begun\n")
    world = World(calls(bash="serve"), says("Once."), commands={"serve": command})
    world.send("Go")
    await command.is_started.wait()
    await world.kill_worker()
    command.finish("whole\n")
    await world.take_over()
    assert world.answers == ["Once."]
    assert "whole" in world.outputs[0]
    assert world.commands == ["serve"]
    assert len(world.find(events.ToolStarted)) == 1


async def test_next_worker_asks_the_model_again_if_its_reply_was_not_stored():
    world = World(fails("stall"), says("Here."))
    world.send("Hello")
    await world.wait_until(lambda: world.log.live)
    await world.kill_worker()
    await world.take_over()
    assert world.answers == ["Here."]


async def test_next_worker_reports_an_unknown_outcome_if_the_sandbox_is_another():
    command = RunningCommand()
    world = World(calls(bash="serve"), says("I check."), commands={"serve": command})
    world.send("Go")
    await command.is_started.wait()
    await world.kill_worker()
    world.sandbox.restart(boot_id="second", cause="It was killed.")
    await world.take_over()
    (unknown,) = world.find(events.ToolOutcomeUnknown)
    assert unknown.output.startswith(
        "Outcome unknown: the sandbox was lost while this ran. It was killed."
    )
    assert world.commands == []
    assert world.answers == ["I check."]


async def test_next_worker_repeats_a_read_in_another_sandbox():
    world = World(calls(read_file="a.txt"), says("Read."), files={"a.txt": "text\n"})
    world.send("Go")
    await world.wait_until(lambda: world.find(events.ToolStarted))
    await world.kill_worker()
    world.sandbox.restart(boot_id="second", cause="It was killed.")
    await world.take_over()
    assert "text" in world.outputs[0]
    assert not world.find(events.ToolOutcomeUnknown)


async def test_call_is_attached_to_again_if_only_the_connection_broke():
    command = RunningCommand("begun\n")
    world = World(calls(bash="serve"), says("Done."), commands={"serve": command})
    world.send("Go")
    await command.is_started.wait()
    command.break_connection()
    await asyncio.sleep(0)
    command.finish("whole\n")
    await world.wait_until_idle()
    assert "whole" in world.outputs[0]
    assert world.commands == ["serve"]


async def test_call_has_an_unknown_outcome_if_the_sandbox_is_lost_meanwhile():
    command = RunningCommand()
    world = World(calls(bash="serve"), says("I check."), commands={"serve": command})
    world.send("Go")
    await command.is_started.wait()
    world.sandbox.restart(boot_id="second", cause="It ran out of memory.")
    command.break_connection()
    await world.wait_until_idle()
    (unknown,) = world.find(events.ToolOutcomeUnknown)
    assert "It ran out of memory." in unknown.output
    assert world.commands == []


async def test_broken_sandbox_ends_the_run_and_leaves_its_calls_open():
    world = World(calls(bash="ls"))
    world.sandbox.fault = SandboxBroken()
    with pytest.raises(SandboxBroken):
        await world.ask("Go")
    assert len(world.log.history.open_calls()) == 1


async def test_superseded_worker_stops_and_records_no_outcome():
    world = World(calls(bash="serve"), commands={"serve": _supersede})
    with pytest.raises(Superseded):
        await world.ask("Go")
    assert world.results == []


def _supersede(command: object) -> None:
    raise Superseded
