"""The loop guard: which steps are equal, and when it warns or pauses."""

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paca import events
from paca.common.text import to_storable_json
from paca.engine.loop_guard import GUARD, STUCK_ROUNDS, WARN_ROUNDS, LoopGuard
from paca.engine.tools.base import ToolContext
from paca.engine.tools.command_output import command_output
from paca.engine.workspace import CommandOutcome
from paca.events import Event
from tests.support.logs import logs

NOWHERE = ToolContext("c", workspace=None)  # type: ignore[arg-type]


def step(number: int, *asked: str, output: str = "same", tool: str = "bash") -> list[Event]:
    """The events of a reply with these parallel commands; their results come in reverse order."""
    ids = [f"call-{number}-{place}" for place in range(len(asked))]
    called: list[Event] = [
        events.ToolCalled(
            call_id=id_, tool=tool, arguments={"command": command}, model_call_id=f"reply-{number}"
        )
        for id_, command in zip(ids, asked, strict=True)
    ]
    results: list[Event] = [
        events.ToolReturned(call_id=id_, output=output, seconds=number) for id_ in reversed(ids)
    ]
    return [*called, *results]


def fold(happened: list[Event]) -> LoopGuard:
    loop_guard = LoopGuard()
    for event in happened:
        loop_guard = loop_guard.advance(event)
    return loop_guard


def taken(*steps: str) -> LoopGuard:
    """The guard after these steps with one command each."""
    return fold([event for n, command in enumerate(steps) for event in step(n, command)])


def alike(steps: list[str], period: int, rounds: int) -> bool:
    """Another definition: the last ``rounds`` groups of ``period`` steps are equal."""
    last = steps[-period * rounds :]
    return len(last) == period * rounds and last == last[:period] * rounds


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=20))
def test_loop_guard_is_stuck_after_five_equal_steps_or_four_rounds_of_two(steps):
    loop_guard = taken(*steps)
    assert loop_guard.is_stuck == (alike(steps, 1, 5) or alike(steps, 2, 4))
    assert loop_guard.needs_warning == (alike(steps, 1, 3) or alike(steps, 2, 3))


def polled(*commands: str, seconds: float, times: int) -> LoopGuard:
    """The guard after these commands in turn, so many times; each of the waiting ones took so long."""
    happened: list[Event] = []
    for number in range(times):
        for place, command in enumerate(commands):
            for event in step(number * len(commands) + place, command):
                if isinstance(event, events.ToolReturned):
                    took = seconds if "sleep" in command else 0.1
                    event = dataclasses.replace(event, seconds=took)
                happened.append(event)
    return fold(happened)


@pytest.mark.parametrize("commands", [["sleep 5"], ["sleep 5", "cat state"]])
def test_polling_is_no_loop_until_its_limit_in_time(commands):
    a_dozen = polled(*commands, seconds=5, times=12)
    assert (a_dozen.needs_warning, a_dozen.is_stuck) == (False, False)
    assert 55 <= a_dozen.polled <= 60
    long = polled(*commands, seconds=60, times=6)
    assert (long.needs_warning, long.is_stuck) == (True, False)
    assert "minutes with bash, " in long.model_message
    assert polled(*commands, seconds=60, times=16).is_stuck


@pytest.mark.parametrize("commands", [["sleep 1"], ["sleep 1", "cat state"]])
def test_polling_with_short_waits_has_a_limit_in_number(commands):
    """Each look costs a model call, so ``sleep 1`` must not go on for 900 of them."""
    few = polled(*commands, seconds=1, times=29)
    assert (few.needs_warning, few.is_stuck) == (False, False)
    warned = polled(*commands, seconds=1, times=31)
    assert (warned.needs_warning, warned.is_stuck) == (True, False)
    said = f"You waited {warned.polls} s with bash, {warned.polls} times, and nothing changed."
    assert warned.model_message.startswith(said)
    assert not polled(*commands, seconds=1, times=149).is_stuck
    stuck = polled(*commands, seconds=1, times=151)
    assert stuck.is_stuck
    assert f"minutes with bash, {stuck.polls} times" in stuck.pause_detail


def test_number_of_polls_starts_afresh_when_something_has_changed():
    before = polled("sleep 1", seconds=1, times=149)
    after = before
    for event in step(500, "sleep 1", output="changed"):
        after = after.advance(event)
    assert after.polls <= 2
    assert not after.is_stuck


def test_command_that_does_not_let_time_pass_is_no_polling():
    assert polled("sleep 0", seconds=0.2, times=5).is_stuck
    assert polled("make", seconds=0, times=5).is_stuck


def test_polling_that_sees_a_change_starts_its_time_afresh():
    before = polled("sleep 60", seconds=60, times=14)
    assert before.polled == 840
    after = fold([])
    for guard_event in step(99, "sleep 60", output="changed"):
        after = before = before.advance(guard_event)
    assert after.polled < 840
    assert not after.is_stuck


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from("ab"), max_size=9))
def test_loop_guard_is_suspect_one_step_before_a_warning(steps):
    """The loop commits the newest results only if the guard is suspect, and relies on this."""
    if steps and taken(*steps).needs_warning:
        assert taken(*steps[:-1]).is_suspect


@settings(max_examples=300, deadline=None)
@given(logs(), logs())
def test_loop_guard_starts_afresh_with_a_message_or_a_turn(before, after):
    for opening in (events.MessageReceived(text="Try another way"), events.TurnStarted(number=2)):
        assert fold([*before, opening, *after]) == fold(after)


@settings(max_examples=300, deadline=None)
@given(logs(), st.text())
def test_loop_guard_is_the_same_for_stored_and_live_events(log, text):
    """The next worker carries on with the same count."""
    log = [*log, *step(90, text, output=text + "\ud800\0")]
    stored = [
        events.load(event.type, json.loads(to_storable_json(event.payload())))
        for event in log
        if event.type != "agent.event.unknown"
    ]
    assert fold(stored) == fold(log)


def test_loop_guard_counts_parallel_equal_calls_as_one_step():
    assert fold(step(0, "ls", "ls", "ls")).most_rounds == 1
    two = [*step(0, "ls", "ls", "ls"), *step(1, "ls", "ls")]
    assert fold(two).rounds(1) == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"output": "other"},
        {"failed": True},
        {"exit_code": 1},
        {"cause": "timed_out"},
    ],
)
def test_loop_guard_counts_another_result_as_another_step(changed):
    log = [event for n in range(STUCK_ROUNDS[1]) for event in step(n, "poll")]
    assert isinstance(log[-1], events.ToolReturned)
    assert fold(log).is_stuck
    assert fold([*log[:-1], dataclasses.replace(log[-1], **changed)]).most_rounds == 1


def test_loop_guard_counts_other_arguments_or_tools_as_another_step():
    assert taken("a", "b", "c", "d", "e").most_rounds == 1
    assert fold([*step(0, "x"), *step(1, "x", tool="read_file")]).most_rounds == 1


def test_loop_guard_does_not_count_a_call_without_a_result():
    log = [event for n in range(STUCK_ROUNDS[1]) for event in step(n, "ls")]
    assert not fold(log[:-1]).is_stuck


@pytest.mark.parametrize("cause", ["", "timed_out", "out_of_memory", "disk_full", "cancelled"])
def test_loop_guard_ignores_durations_and_output_files(cause):
    def run(number: int, seconds: float) -> list[Event]:
        call_id = f"call-{number}"
        outcome = CommandOutcome(1, "words", seconds, True, f"{call_id}.txt", cause)
        output = command_output(outcome, NOWHERE, time_limit_seconds=60).output
        asked = events.ToolCalled(
            call_id=call_id, tool="bash", arguments={}, model_call_id=f"reply-{number}"
        )
        return [asked, events.ToolReturned(call_id=call_id, output=output)]

    times = (0.001, 0.2, 3.456, 61)
    assert fold([e for n, s in enumerate(times) for e in run(n, s)]).rounds(1) == len(times)


def test_loop_guard_does_not_ignore_times_in_the_commands_own_output():
    outputs = [f"ready after {n} s\n[exit 0 after 0.01 s]" for n in range(4)]
    log = [event for n, output in enumerate(outputs) for event in step(n, "x", output=output)]
    assert fold(log).most_rounds == 1


def test_loop_guard_warns_once_until_the_model_does_something_else():
    log = [event for n in range(WARN_ROUNDS) for event in step(n, "ls")]
    assert fold(log).needs_warning
    log.append(events.GuardNoticed(guard=GUARD, note=fold(log).model_message))
    again = [*log, *step(WARN_ROUNDS, "ls")]
    assert not fold(log).needs_warning
    assert not fold(again).needs_warning
    other = [*again, *step(7, "cat"), *(event for n in (8, 9, 10) for event in step(n, "ls"))]
    assert fold(other).needs_warning
    assert not fold(log[:-1] + [events.GuardNoticed(guard="text_tool_call", note="x")]).warned


def test_loop_guard_texts_name_the_repeated_steps():
    assert taken(*["ls"] * 3).model_message.startswith("You called bash 3 times in the same way")
    assert taken(*["ls"] * 5).pause_detail.startswith("The agent called bash 5 times")
    turns = [event for n in range(8) for event in step(n, "x", tool=("bash", "read_file")[n % 2])]
    assert fold(turns).pause_detail == (
        "The agent took the same two steps (bash, then read_file) 4 times in turn,"
        " with the same results."
    )
