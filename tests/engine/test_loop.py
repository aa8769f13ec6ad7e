"""The loop in memory: replies, tool calls, retries, limits and what ends a turn."""

from dataclasses import replace

import pytest

from paca import events
from paca.engine.limits import TurnLimits
from paca.engine.llm import retrying
from paca.engine.llm.base import Request
from paca.engine.llm.model_errors import RateLimited
from paca.engine.workspace import Command, CommandOutcome, SandboxUnavailable
from tests.engine.world import World, any_command, tool_steps
from tests.support.fake_sandbox_workspace import RunningCommand
from tests.support.model_script import Scripted, calls, fails, says, thinks

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def no_wait_before_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_WAIT_SECONDS", 0.0)


async def test_loop_answers_a_question_and_stores_each_event():
    world = World(thinks("A greeting.") + says("Hello, Ada."))
    await world.ask("Hello")
    assert world.status == "finished/answered"
    assert world.answers == ["Hello, Ada."]
    assert world.event_types == [
        "message.received",
        "turn.started",
        "usage.recorded",
        "thought.recorded",
        "message.spoken",
        "turn.finished",
    ]


async def test_loop_runs_a_command_and_shows_its_output_to_the_model():
    world = World(
        says("I look.") + calls(bash="echo $((6*7))"),
        says("42."),
        commands={"echo $((6*7))": "42\n"},
    )
    await world.ask("Where?")
    assert world.answers == ["I look.", "42."]
    (returned,) = world.results
    assert returned.exit_code == 0
    assert "42" in returned.output
    assert "42" in world.last_request()


async def test_loop_keeps_files_and_history_for_the_next_turn():
    world = World(commands={"cat n.txt": "x\n"})
    await world.ask("Make notes", calls(write_file={"path": "n.txt", "content": "x"}), says("Done"))
    await world.ask("Is it there?", calls(read_file="n.txt"), says("Yes."))
    assert world.answers == ["Done", "Yes."]
    assert "x" in world.outputs[-1]
    assert [event.number for event in world.find(events.TurnStarted)] == [1, 2]
    first, last = world.llm.requests[0], world.llm.requests[-1]
    assert (last.tools, last.system) == (first.tools, first.system)
    assert last.messages[0] == first.messages[0]


async def test_tool_calls_read_in_parallel_and_write_in_order():
    reads = calls(*[("list_directory", {"path": "."})] * 3)
    writes = calls(bash=[f"echo {n}" for n in range(3)])
    world = World(reads, writes, says("ok"), commands=any_command())
    await world.ask("Go")
    assert world.commands == ["echo 0", "echo 1", "echo 2"]
    kinds = [kind for kind in world.event_types if kind in ("tool.started", "tool.returned")]
    assert kinds[:6] == ["tool.started"] * 3 + ["tool.returned"] * 3
    assert kinds[6:] == ["tool.started", "tool.returned"] * 3


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("no_such_tool", {}), "no_such_tool"),
        (("bash", {"comand": "ls"}), "command"),
        (("bash", {"command": 7}), "command"),
        (("read_file", {"path": "../../etc/passwd"}), "outside"),
        (("read_file", {"path": "missing.txt"}), "missing.txt"),
    ],
)
async def test_tool_call_that_is_wrong_becomes_a_result_for_the_model(call, expected):
    world = World(calls(call), says("I see."))
    await world.ask("Go")
    (returned,) = world.results
    assert returned.failed
    assert expected in returned.output
    if call[0] == "no_such_tool":
        assert returned.cause == "unknown_tool"
    assert expected in world.last_request()
    assert world.status == "finished/answered"


async def test_tool_call_without_a_sandbox_is_refused_with_the_reason():
    world = World(calls(bash="ls"), says("I cannot."))
    world.sandbox.fault = SandboxUnavailable("No sandbox here.")
    await world.ask("Go")
    (returned,) = world.results
    assert (returned.cause, returned.output) == ("refused", "No sandbox here.")
    assert not world.find(events.ToolStarted)


# --- retries ------------------------------------------------------------------------------------


async def test_retry_discards_a_broken_stream_and_asks_again():
    """The adapters' tests break a stream in every way; for the loop all of them are one."""
    world = World(fails("cuttool"), says("Whole."))
    await world.ask("Go")
    assert (world.status, world.answers, world.outputs) == ("finished/answered", ["Whole."], [])
    assert len(world.find(events.MessageDiscarded)) == 1
    assert [used.outcome for used in world.find(events.UsageRecorded)] == ["failed", "done"]
    assert world.commands == []


async def test_retry_asks_again_after_each_broken_step_and_runs_each_command_once():
    replies = [item for step in tool_steps(5) for item in (fails("cuttool"), step)]
    world = World(*replies, says("Done."), commands=any_command())
    await world.ask("Go")
    assert world.commands == [f"echo {n}" for n in range(5)]
    assert len(world.find(events.ModelRetried)) == 5


async def test_retry_waits_as_long_as_the_provider_asks():
    world = World(*[fails("429", retry_after=0.1)] * 2, says("Here."))
    await world.ask("Go")
    assert world.answers == ["Here."]
    retried = world.find(events.ModelRetried)
    assert all(0.1 <= each.wait_seconds <= 0.2 for each in retried), "without a header it is 0"
    assert [each.code for each in retried] == ["rate_limited"] * 2
    assert [each.attempt for each in retried] == [1, 2]


async def test_retry_asks_an_overloaded_provider_again():
    faults = [fails("529"), fails("503"), fails("500")]
    world = World(*faults, says("Here."))
    await world.ask("Go")
    assert world.answers == ["Here."]
    assert [each.code for each in world.find(events.ModelRetried)] == ["model_overloaded"] * 3


async def test_retry_ends_after_its_limit_and_a_message_carries_on():
    world = World(*[fails("429", retry_after=0.01)] * 4)
    await world.ask("Hello")
    assert world.status == "paused/rate_limited"
    assert len(world.llm.requests) == 4
    world.llm.replies.append(says("Back again."))
    await world.proceed()
    assert world.status == "finished/answered"
    await world.ask("Once more", says("Now it works."))
    assert world.answers == ["Back again.", "Now it works."]


async def test_retry_gives_up_at_once_if_the_provider_asks_for_too_long_a_wait():
    world = World(RateLimited(retry_after_seconds=retrying.MAX_RETRY_AFTER_SECONDS + 1))
    await world.ask("Hello")
    assert (world.status, len(world.llm.requests)) == ("paused/rate_limited", 1)


async def test_retry_asks_for_an_empty_reply_again_and_never_stores_it():
    """T-31."""
    world = World(says(""), says("  "), says("Here I am."))
    await world.ask("Go")
    assert world.answers == ["Here I am."]
    assert len(world.find(events.ModelRetried)) == 2


async def test_refused_key_fails_the_turn_with_the_next_step():
    world = World(fails("401"))
    await world.ask("Hello")
    assert world.status == "failed/configuration"
    assert world.outcome is not None
    assert "refused the key" in world.outcome.detail
    expected = "Replace the key of Rosa, which ends in 1234, then press Try again."
    assert world.outcome.next_step == expected
    assert len(world.llm.requests) == 1
    await world.ask("Again", says("Hello."))
    assert world.status == "finished/answered"


# --- cut replies --------------------------------------------------------------------------------


async def test_reply_that_is_cut_is_continued_up_to_three_times():
    world = World(*[says(f"part {n} ").stopping("max_tokens") for n in range(5)])
    await world.ask("Write a book")
    assert len(world.answers) == len(world.llm.requests) == 4
    assert world.status == "finished/answered"
    assert "Go on exactly where it stopped" in world.last_request()


async def test_reply_that_is_cut_never_runs_its_tool_call():
    cut = (says("I run it.") + calls(bash="touch never.txt")).stopping("max_tokens")
    world = World(cut, calls(bash="echo 0"), says("done"), commands=any_command())
    await world.ask("Go")
    assert world.commands == ["echo 0"]
    assert world.status == "finished/answered"


async def test_reply_that_is_cut_before_any_text_pauses_the_turn_after_three_times():
    world = World(*[thinks("Hm.").stopping("max_tokens")] * 4)
    await world.ask("Go")
    assert world.status == "paused/stuck"
    assert world.outcome is not None
    assert "max_tokens" in world.outcome.detail


async def test_reply_that_refuses_fails_the_turn():
    world = World(says("I will not.").stopping("refusal"))
    await world.ask("Go")
    assert world.status == "failed/model_refused"


async def test_result_tells_the_model_how_its_arguments_were_read():
    call = calls(("bash", {"command": "ls", "timeout_seconds": "5", "description": "List"}))
    world = World(call, says("Done."), commands={"ls": "a.txt"})
    await world.ask("Go")
    assert "a.txt" in world.outputs[0]
    assert world.outputs[0].endswith(
        '[timeout_seconds was "5" and was taken as 5. There is no field "description"; it was ignored.]'
    )


# --- limits -------------------------------------------------------------------------------------


async def test_step_limit_is_announced_summarised_and_left_by_a_message():
    world = World(
        *tool_steps(4), says("So far."), limits=TurnLimits(steps=4), commands=any_command()
    )
    await world.ask("Go")
    assert world.status == "paused/step_limit"
    assert len(world.find(events.LimitNeared)) == len(world.find(events.LimitReached)) == 1
    assert len(world.find(events.ToolCalled)) == 4
    assert world.event_types[-2:] == ["message.spoken", "turn.finished"]
    assert not world.llm.requests[-1].may_call
    assert "2 steps are left" in str(world.llm.requests[2].messages[-1])
    await world.ask("go on", *tool_steps(1), says("Done."))
    assert world.status == "finished/answered"


async def test_step_limit_ignores_a_tool_call_in_the_summary():
    world = World(
        calls(bash="echo 0"),
        calls(bash="echo 1"),
        limits=TurnLimits(steps=1),
        commands=any_command(),
    )
    await world.ask("Go")
    assert (world.status, world.commands) == ("paused/step_limit", ["echo 0"])


async def test_step_limit_counts_anew_in_each_turn():
    world = World(limits=TurnLimits(steps=3), commands=any_command())
    await world.ask("Go", *tool_steps(3), says("Summary."))
    assert world.status == "paused/step_limit"
    world.llm.replies.extend([*tool_steps(3), says("Summary.")])
    await world.proceed()
    assert world.status == "paused/step_limit"
    assert len(world.find(events.ToolCalled)) == 6


async def test_token_budget_pauses_before_the_next_model_call():
    world = World(
        calls(bash="echo 0"),
        says("never"),
        limits=TurnLimits(steps=9, tokens=15),
        commands=any_command(),
    )
    await world.ask("Go")
    assert world.status == "paused/token_budget"
    assert len(world.llm.requests) == 1
    assert world.commands == ["echo 0"]


async def test_cost_limit_is_refused_if_the_price_is_unknown():
    world = World(
        says("Now."),
        limits=TurnLimits(steps=9, cost_usd=1.0),
        model="openai/gpt-test",
        base_url="http://127.0.0.1/v1",
    )
    await world.ask("Go")
    assert world.status == "failed/configuration"
    assert world.llm.requests == []
    world.profile = World(limits=TurnLimits(steps=9, cost_usd=1.0, tokens=1000)).profile
    await world.ask("Again")
    assert world.answers == ["Now."]


async def test_budget_that_was_reached_gives_another_portion_to_continue_and_to_a_message():
    world = World(limits=TurnLimits(steps=9, tokens=15), commands=any_command())
    await world.ask("Go", *tool_steps(1))
    assert world.status == "paused/token_budget"
    assert world.outcome is not None
    assert (world.outcome.limit, world.outcome.detail) == (
        15,
        "It has used its limit of 15 tokens. Continue or a message gives it 15 tokens more.",
    )
    world.llm.replies.extend(tool_steps(1))
    await world.proceed()
    assert (world.status, len(world.llm.requests)) == ("paused/token_budget", 2)
    await world.ask("And now?", says("Done."))
    assert (world.status, world.answers) == ("finished/answered", ["Done."])


async def test_changed_limit_counts_from_the_next_call_on():
    world = World(*tool_steps(4), says("So far."), commands=any_command())
    world.new_limits = {3: TurnLimits(steps=3)}
    await world.ask("Go")
    assert (world.status, len(world.commands)) == ("paused/step_limit", 3)


async def test_limit_is_asked_before_each_attempt():
    world = World(*[fails("cut")] * 4, limits=TurnLimits(steps=9, tokens=15))
    await world.ask("Go")
    assert (world.status, len(world.llm.requests)) == ("paused/token_budget", 1)


async def test_key_refused_for_the_summary_at_a_limit_lowered_during_a_retry_is_said():
    world = World(*tool_steps(2), fails("cut"), fails("401"), commands=any_command())
    world.new_limits = {3: TurnLimits(steps=2)}
    await world.ask("Go")
    assert world.status == "failed/configuration"


async def test_time_limit_ends_a_running_command_and_gives_it_a_result():
    command = RunningCommand("begun\n")
    world = World(
        calls(bash="serve"), limits=TurnLimits(steps=9, seconds=0.5), commands={"serve": command}
    )
    await world.ask("Go", says("It was still serving."))
    assert (world.status, command.outcome.done()) == ("paused/time_limit", True)
    assert "Stopped at the time limit of 0.5 seconds." in world.outputs[0]
    assert "begun" in world.outputs[0]


async def test_time_limit_ends_the_stream_of_the_model():
    world = World(fails("stall"), limits=TurnLimits(steps=9, seconds=0.5))
    await world.ask("Go")
    assert (world.status, world.llm.closed) == ("paused/time_limit", 1)
    world.profile = replace(world.profile, limits=TurnLimits(steps=9))
    await world.ask("Go on", says("Done."))
    assert "Let me" in str(world.llm.requests[-1].messages)


async def test_time_limit_pauses_before_the_next_model_call():
    world = World(limits=TurnLimits(steps=9, seconds=0.0))
    await world.ask("Go")
    assert (world.status, world.llm.requests) == ("paused/time_limit", [])


# --- pause --------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["reply", "first command"])
async def test_pause_lets_the_step_end_and_a_later_turn_carries_on(moment):
    def reply(request: Request) -> Scripted:
        if moment == "reply":
            world.pause()
        return calls(bash=["echo 0", "echo 1"])

    def first_command(command: Command) -> CommandOutcome:
        if moment == "first command":
            world.pause()
        return CommandOutcome(0, "first", 0.0)

    world = World(reply, says("done"), commands={"echo 0": first_command, "echo 1": "second"})
    await world.ask("Go")
    assert world.status == "paused/by_person"
    assert world.commands == ["echo 0", "echo 1"]
    assert len(world.llm.requests) == 1
    await world.proceed()
    assert world.answers == ["done"]
    assert ("first" in world.last_request(), "second" in world.last_request()) == (True, True)
