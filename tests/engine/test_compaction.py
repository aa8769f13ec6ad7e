"""A summary in place of what came before: when it is made, what it replaces, and what happens if it fails."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paca import events
from paca.engine.compaction import compact
from paca.engine.compaction_state import CompactionRequest
from paca.engine.context.carrying import NO_SUMMARY
from paca.engine.context.history import History, advance
from paca.engine.context.measuring import size_of
from paca.engine.limits import TurnLimits
from paca.engine.llm.base import Text, ToolResult
from paca.engine.llm.model_errors import (
    ContextExceeded,
    KeyRefused,
    Overloaded,
    RequestRefused,
    TimedOut,
)
from paca.engine.tools.registry import Toolbox, workspace_tools
from paca.engine.turn import ActiveTurn, ModelCallStarted, TurnServices
from tests.engine.provider_rules import violations
from tests.engine.windowed_llm import WindowedLLM
from tests.engine.world import World, any_command, tool_steps
from tests.support.logs import shortened_logs
from tests.support.model_script import calls, fails, says
from tests.support.scripted_llm import ScriptedLLM

pytestmark = pytest.mark.anyio
# An agent with a small window has few tools.
FEW_TOOLS = (
    *("ask_person", "background_run", "check_background", "propose_plan", "stop_background"),
    *("update_plan", "write_todo_list"),
)
WINDOW = 8_000
LONG = "word " * 500  # 2,500 characters


def talk(world, count, text=LONG):
    """A log of so many answered messages, without a model."""
    for number in range(count):
        world.log.append(
            events.MessageReceived(text=f"Question {number}. {text}"),
            events.UsageRecorded(call_id=f"m{number}", model="m", seen_seq=4 * number + 1),
            events.MessageSpoken(text=f"Answer {number}.", call_id=f"m{number}"),
            events.TurnFinished(number=number, status="finished", reason="answered"),
        )
    world.log.catch_up()


def texts(request):
    return "\n".join(
        block.text if isinstance(block, Text) else block.output
        for message in request.messages
        for block in message.blocks
        if isinstance(block, Text | ToolResult)
    )


def summaries(world):
    return [request for request in world.llm.requests if not request.tools]


async def test_a_conversation_near_the_window_goes_on_with_a_summary():
    world = World(says("Notes: the totals are wrong."), says("Done."), context_window=WINDOW)
    talk(world, 8)
    await world.ask("And now?")
    (compacted,) = world.find(events.ContextCompacted)
    assert (compacted.by, compacted.model) == ("automatic", world.profile.model)
    assert compacted.tokens_after < 0.75 * compacted.tokens_before
    last = texts(world.llm.requests[-1])
    assert "Notes: the totals are wrong." in last
    assert "Question 0." in last  # the first message is carried over
    assert "Question 4." not in last
    assert last.endswith("And now?")
    assert world.status == "finished/answered"


async def test_the_summary_is_asked_for_without_tools_and_booked_with_its_purpose():
    world = World(says("Notes."), says("Done."), context_window=WINDOW)
    talk(world, 8)
    await world.ask("And now?")
    (request,) = summaries(world)
    assert not request.may_call
    assert "Question 0." in texts(request)
    recorded = [event for event in world.find(events.UsageRecorded) if event.purpose != "turn"]
    assert [(event.purpose, event.outcome, event.seen_seq) for event in recorded] == [
        ("compaction", "done", 0)
    ]
    started = [entry for entry in world.log.entries if isinstance(entry, ModelCallStarted) and entry.purpose == "compaction"]  # fmt: skip
    assert [entry.call_id for entry in started] == [recorded[0].call_id]
    world.log.catch_up()
    assert world.log.progress.steps == 1  # the summary is no step
    assert "context.compacting" in world.event_types


async def test_requests_after_a_summary_begin_with_the_same_bytes():
    world = World(says("Notes."), says("Done."), context_window=WINDOW)
    talk(world, 8)
    await world.ask("And now?")
    first = world.llm.requests[-1].messages
    await world.ask("More?", calls(bash="echo 0"), says("Well."), says("Again."))
    for request in world.llm.requests[-2:]:
        assert request.messages[: len(first) - 1] == first[:-1]
        assert request.messages[len(first) - 1].blocks[: len(first[-1].blocks)] == first[-1].blocks


async def test_old_results_are_left_out_first_and_the_newest_three_stay():
    world = World(
        *tool_steps(9),
        says("Done."),
        commands=any_command("x" * 2500),
        context_window=WINDOW,
        off=FEW_TOOLS,
    )
    await world.ask("Go")
    assert world.find(events.ContextTrimmed)
    assert not world.find(events.ContextCompacted)
    results = [b.output for m in world.llm.requests[-1].messages for b in m.blocks if isinstance(b, ToolResult)]  # fmt: skip
    assert all("left out" not in output for output in results[-3:])
    assert "left out" in results[0]
    assert world.status == "finished/answered"


FAILURES = {
    "refused": RequestRefused(),
    "no key": KeyRefused(),
    "empty": says("  "),
}


@pytest.mark.parametrize("kind", FAILURES)
async def test_a_failed_summary_leaves_a_note_with_the_first_words_and_the_files(kind):
    world = World(FAILURES[kind], says("Done."), context_window=WINDOW, retries=0)
    talk(world, 8)
    world.log.append(
        events.ToolCalled(call_id="w", tool="write_file", arguments={}, subject="a.py")
    )
    world.log.append(events.ToolReturned(call_id="w", output="ok"))
    await world.ask("And now?")
    if world.status == "failed/configuration":  # a refused key would refuse the next call too
        assert not world.find(events.ContextCompacted)
        return
    (compacted,) = world.find(events.ContextCompacted)
    assert (compacted.summary, compacted.model) == (NO_SUMMARY, "")
    assert "Question 0." in compacted.carried
    assert "a.py" in compacted.carried
    assert compacted.tokens_after < 0.75 * compacted.tokens_before
    assert world.status == "finished/answered"


async def test_a_summary_that_wins_less_than_a_quarter_is_not_used():
    world = World(says("too long " * 4000), says("Done."), context_window=100_000)
    talk(world, 5)
    world.log.append(events.ContextCompactionRequested(by="Ada"))
    await world.ask("And now?")
    (compacted,) = world.find(events.ContextCompacted)
    assert (compacted.summary, compacted.model) == (NO_SUMMARY, "")


async def test_no_summary_is_asked_for_that_would_win_less_than_a_quarter():
    world = World(says("Done."), context_window=WINDOW)
    await world.ask("A question of one message. " + "word " * 4000)
    assert summaries(world) == []
    assert world.status == "finished/answered"


async def test_the_agent_asks_for_a_summary_and_it_is_made_after_the_step():
    focus = {"focus": "the numbers"}
    world = World(
        calls(compact_context=focus), says("Notes."), says("Done."), context_window=100_000
    )
    talk(world, 6)
    await world.ask("Sum it up")
    (compacted,) = world.find(events.ContextCompacted)
    assert (compacted.by, compacted.focus) == ("agent", "the numbers")
    (request,) = summaries(world)
    assert "Keep above all: the numbers" in texts(request)
    assert world.log.progress.compaction.requested is None
    await world.ask("Next?", says("Well."))
    assert len(world.find(events.ContextCompacted)) == 1


async def test_a_focus_that_is_too_long_is_refused_and_no_summary_is_made():
    focus = {"focus": "x" * 2001}
    world = World(calls(compact_context=focus), says("Done."), context_window=100_000)
    talk(world, 6)
    await world.ask("Sum it up")
    assert [(result.failed, result.cause) for result in world.results] == [(True, "invalid")]
    assert not world.find(events.ContextCompacted)


async def test_a_wanted_summary_of_too_little_is_skipped_and_says_so():
    world = World(says("Hello."))
    world.log.append(events.ContextCompactionRequested(by="Ada"))
    await world.ask("Hi")
    (skipped,) = world.find(events.ContextCompactionSkipped)
    assert (skipped.reason, skipped.by) == ("too_little", "person")
    assert world.log.progress.compaction.requested is None


async def test_a_summary_that_a_person_wants_is_made_before_the_next_message_is_answered():
    world = World(says("Notes."), says("Done."))
    talk(world, 6)
    world.log.append(events.ContextCompactionRequested(focus="names", by="Ada"))
    await world.ask("Go on")
    (compacted,) = world.find(events.ContextCompacted)
    assert (compacted.by, compacted.focus) == ("person", "names")


async def test_a_worker_that_dies_during_a_summary_leaves_it_to_the_next_one():
    world = World(fails("stall"), says("Notes."), says("Done."), context_window=WINDOW)
    talk(world, 8)
    world.send("And now?")
    await world.llm.streaming.wait()
    await world.kill_worker()
    await world.take_over()
    assert len(world.find(events.ContextCompacted)) == 1
    assert world.status == "finished/answered"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_worker_that_dies_at_any_commit_around_a_summary_leaves_one_and_doubles_nothing(
    when,
):
    died = number = 0
    while died == number:
        number += 1
        died += await _dies_at(number, when)
    assert died > 4  # the calls of the summary and of the answer, and what they store


async def _dies_at(number, when):
    """Whether the turn came to the commit of this number. The worker died there, and another went on."""
    llm = WindowedLLM(lambda _request: says("Done."), window=WINDOW)
    world = World(llm=llm, context_window=WINDOW)
    talk(world, 8)
    stores, is_dead, left = world.log.commit, asyncio.Event(), [number]

    async def commit(*entries):
        left[0] -= 1
        if left[0] or when == "after":
            await stores(*entries)
        if left[0] == 0:
            is_dead.set()
            await asyncio.Event().wait()
        return world.log.history

    world.log.commit = commit
    world.send("And now?")
    await world.wait_until(lambda: is_dead.is_set() or not world.is_running)
    world.log.commit = stores
    if is_dead.is_set():
        await world.kill_worker()
        await world.take_over()
    assert world.status == "finished/answered"
    assert world.answers[8:] == ["Done."]
    assert len(world.find(events.ContextCompacted)) == 1
    assert (llm.faults, llm.refusals) == ([], 0)
    return is_dead.is_set()


async def test_a_stop_during_a_summary_books_its_call():
    world = World(fails("stall"), context_window=WINDOW)
    talk(world, 8)
    world.send("And now?")
    await world.llm.streaming.wait()
    world.stop()
    await world.wait_until_idle()
    recorded = [event for event in world.find(events.UsageRecorded) if event.purpose != "turn"]
    assert [event.outcome for event in recorded] == ["cancelled"]
    assert not world.find(events.ContextCompacted)


async def test_a_summary_counts_for_the_budget_and_ends_the_turn_at_it():
    world = World(says("Notes."), context_window=WINDOW, limits=TurnLimits(steps=50, tokens=10))
    talk(world, 8)
    await world.ask("And now?")
    assert len(world.llm.requests) == 1
    assert world.status == "paused/token_budget"


async def test_a_failed_attempt_of_a_summary_counts_for_the_budget():
    limits = TurnLimits(steps=50, tokens=10)
    world = World(fails("cut"), says("Notes."), context_window=WINDOW, limits=limits)
    talk(world, 8)
    await world.ask("And now?")
    assert len(world.llm.requests) == 1
    assert world.status == "paused/token_budget"


@pytest.mark.parametrize("failure", [Overloaded(), TimedOut()])
async def test_an_outage_pauses_the_turn_and_costs_no_history(failure):
    world = World(failure, context_window=WINDOW, retries=0)
    talk(world, 8)
    await world.ask("And now?")
    assert world.status == "paused/model_unavailable"
    assert not world.find(events.ContextCompacted)
    world.llm.replies[:] = [says("Notes."), says("Done.")]
    await world.proceed()
    assert [each.summary for each in world.find(events.ContextCompacted)] == ["Notes."]
    assert world.status == "finished/answered"
    assert not world.log.progress.compaction.summary_failed


async def test_a_summary_that_fails_in_the_next_turn_too_is_left_out_and_the_work_goes_on():
    world = World(Overloaded(), context_window=WINDOW, retries=0)
    talk(world, 8)
    await world.ask("And now?")
    world.llm.replies[:] = [Overloaded(), says("Done.")]
    await world.proceed()
    assert [each.summary for each in world.find(events.ContextCompacted)] == [NO_SUMMARY]
    assert world.status == "finished/answered"


async def test_a_model_that_reasons_has_room_for_it_before_the_summary():
    world = World(says("Notes."), says("Done."), context_window=WINDOW)
    talk(world, 8)
    await world.ask("And now?")
    (request,) = summaries(world)
    assert request.max_tokens == WINDOW // 4


async def test_a_summary_in_parts_that_takes_more_than_a_portion_gets_on_with_each():
    limits = TurnLimits(steps=50, tokens=10)
    world = World(says("First notes."), context_window=WINDOW, limits=limits)
    talk(world, 40)
    await world.ask("And now?")
    assert world.status == "paused/token_budget"
    (compacted,) = world.find(events.ContextCompacted)
    assert compacted.summary.startswith("First notes.")
    assert "was not read" in compacted.summary
    world.llm.replies[:] = [says("Done.")]
    await world.proceed()
    assert world.status == "finished/answered"


async def test_the_call_after_a_refusal_and_its_summary_is_within_the_limits():
    llm = WindowedLLM(lambda _request: says("Done."), window=6_000)
    world = World(llm=llm, context_window=32_000, limits=TurnLimits(steps=50, tokens=10))
    talk(world, 14)
    await world.ask("And now?")
    assert world.status == "paused/token_budget"
    assert (len(llm.requests), llm.refusals) == (1, 1)
    await world.proceed()
    assert world.status == "finished/answered"


# --- a model of its own for summaries ----------------------------------------------------------------

SMALL = "anthropic/claude-small"


async def test_another_model_writes_the_summary_and_its_call_is_booked_under_its_name():
    small = ScriptedLLM([says("Short notes.")])
    world = World(
        says("Done."), context_window=WINDOW, compaction_llm=small, compaction_model=SMALL
    )
    talk(world, 8)
    await world.ask("And now?")
    (request,) = small.requests
    assert (request.model, request.parameters) == (SMALL, {})
    (compacted,) = world.find(events.ContextCompacted)
    assert (compacted.summary, compacted.model) == ("Short notes.", SMALL)
    booked = [each.model for each in world.find(events.UsageRecorded) if each.purpose != "turn"]
    assert booked == [SMALL]
    assert [each.model for each in world.llm.requests] == [world.profile.model]


@pytest.mark.parametrize("failure", [KeyRefused(), RequestRefused(), says(" ")])
async def test_the_agent_writes_the_summary_itself_if_the_model_for_it_fails(failure):
    small = ScriptedLLM([failure])
    replies = says("Own notes."), says("Done.")
    world = World(
        *replies, context_window=WINDOW, compaction_llm=small, compaction_model=SMALL, retries=0
    )
    talk(world, 8)
    await world.ask("And now?")
    (compacted,) = world.find(events.ContextCompacted)
    assert (compacted.summary, compacted.model) == ("Own notes.", world.profile.model)
    assert world.status == "finished/answered"


# --- refusals ---------------------------------------------------------------------------------------


async def test_a_wrong_window_is_corrected_by_the_refusal_and_the_turn_ends_well():
    llm = WindowedLLM(lambda _request: says("Done."), window=6_000)
    world = World(llm=llm, context_window=32_000)
    talk(world, 14)
    await world.ask("And now?")
    assert world.status == "finished/answered"
    (compacted,) = world.find(events.ContextCompacted)
    assert (compacted.refused, compacted.window) == (True, 6_000)
    assert llm.refusals == 1
    for number in range(14):
        await world.ask(f"More {number}. {LONG}")
    assert llm.refusals == 1  # the window is known now
    assert world.status == "finished/answered"


async def test_a_refusal_without_a_number_is_answered_by_a_summary_too():
    llm = WindowedLLM(lambda _request: says("Done."), window=6_000, tells=False)
    world = World(llm=llm)
    talk(world, 14)
    await world.ask("And now?")
    assert world.status == "finished/answered"
    assert llm.faults == []


@pytest.mark.parametrize("tells", [True, False])
async def test_the_newest_result_outlasts_a_refusal_or_is_carried_over_shortened(tells):
    def answers(request):
        is_result = any(isinstance(each, ToolResult) for each in request.messages[-1].blocks)
        return says("Done.") if is_result or len(llm.requests) > 2 else calls(bash="cat log")

    log = "First line.\n" + "some words\n" * 500 + "Last line."
    llm = WindowedLLM(answers, window=8_000, tells=tells)
    world = World(llm=llm, commands={"cat log": log}, context_window=32_000, off=FEW_TOOLS)
    talk(world, 9)
    await world.ask("Read the log")
    assert llm.faults == []
    assert (world.status, llm.refusals) == ("finished/answered", 1)
    assert len(world.find(events.ContextCompacted)) == 1
    last = texts(llm.requests[-1])
    assert "First line." in last
    assert "Last line." in last
    assert (log in last) == tells


async def test_a_newest_message_that_is_nearly_all_of_a_refused_request_costs_no_pause():
    llm = WindowedLLM(lambda _request: says("Done."), window=16_000)
    world = World(llm=llm, context_window=32_000)
    talk(world, 4)
    await world.ask("Begin. " + "word " * 9_500 + "End.")
    assert (world.status, llm.refusals) == ("finished/answered", 1)
    assert "Begin." in texts(llm.requests[-1])
    assert "End." in texts(llm.requests[-1])


async def test_a_model_that_always_refuses_is_asked_three_times_at_most_and_continue_shortens_further():
    refuse = ContextExceeded("maximum context length is 6000 tokens")
    world = World(*[refuse] * 30)
    talk(world, 14)
    await world.ask("And now?")
    assert world.status == "paused/context_full"
    assert "Continue" in world.outcome.detail
    assert len([request for request in world.llm.requests if request.tools]) <= 3
    before = world.find(events.ContextCompacted)[-1].tokens_after
    await world.proceed()
    assert world.find(events.ContextCompacted)[-1].tokens_after < before
    world.llm.replies[:] = [says("Here I am.")] * 3
    await world.proceed()
    assert world.status == "finished/answered"


async def test_a_message_that_is_longer_than_the_window_is_shortened_by_continue():
    llm = WindowedLLM(lambda _request: says("Done."), window=6_000)
    world = World(llm=llm)
    await world.ask(f"Begin. {'word ' * 9000} End.")
    if world.status == "paused/context_full":
        await world.proceed()
    assert world.status == "finished/answered"
    assert "Begin." in texts(llm.requests[-1])
    assert "End." in texts(llm.requests[-1])


async def test_instructions_that_fill_the_window_alone_are_named():
    world = World(*[ContextExceeded("maximum context length is 1500 tokens")] * 9)
    await world.ask("Hi")
    assert "instructions and tools alone take about" in world.outcome.detail


# --- long conversations -----------------------------------------------------------------------------


@pytest.mark.parametrize(("window", "turns"), [(16_000, 400), (4_096, 400)])
async def test_four_hundred_turns_end_well_in_a_small_window(window, turns):
    """0 requests that a provider would refuse for their form, and none for its length."""
    llm = WindowedLLM(lambda request: _works(request), window=window)
    # How often a summary is made depends on the room that the tools leave.
    world = World(
        llm=llm,
        commands={"ls": "a.txt\n" * 60},
        off=FEW_TOOLS,
        context_window=window,
        system="Be brief.",
    )
    world.checks_after_each_turn = False  # the model checks each request
    for number in range(turns):
        await world.ask(f"Question {number}: {'why ' * 20}")
        assert world.status == "finished/answered", (number, world.outcome)
    assert (llm.faults, llm.refusals) == ([], 0)
    compactions = world.find(events.ContextCompacted)
    assert compactions
    for event in compactions:
        assert event.tokens_after < event.tokens_before
    assert len(llm.summaries) < turns / 4


def _works(request):
    """A step with a command, then the answer."""
    last = request.messages[-1]
    if any(isinstance(block, ToolResult) for block in last.blocks):
        return says("There is a.txt. " * 4)
    return calls(bash="ls")


@settings(max_examples=100, deadline=None)
@given(shortened_logs(), st.sampled_from([None, 2_500, 8_000]), st.booleans())
def test_a_summary_of_any_log_leaves_less_or_is_skipped_and_says_why(log, window, refused):
    world = World(*[says("Notes.")] * 20)
    world.log.append(*log)
    world.log.catch_up()
    turn = ActiveTurn(world.profile, Toolbox(workspace_tools()))
    services = TurnServices(world.log, world.sandbox, world.llm)
    wanted = CompactionRequest("person")
    before = size_of(world.log.history.messages()).total
    made = asyncio.run(compact(turn, services, window=window, wanted=wanted, refused=refused))
    new = world.log.events[len(log) :]
    assert isinstance(new[-1], events.ContextCompacted if made else events.ContextCompactionSkipped)
    assert violations(world.log.history.messages()) == []
    if made:
        assert size_of(world.log.history.messages()).total <= 0.75 * before
        assert new[-1].tokens_after < new[-1].tokens_before


def test_the_history_of_the_log_is_the_one_that_the_turn_used():
    """A worker that reads the log anew has the same history."""
    world = World(says("Notes."), says("Done."), context_window=WINDOW)
    talk(world, 8)
    asyncio.run(world.ask("And now?"))
    world.log.catch_up()
    history = History()
    for seq, event in enumerate(world.log.events, 1):
        history = advance(history, event, seq)
    assert history == world.log.history
