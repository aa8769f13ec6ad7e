"""The agent's hint, and the request to check its work before a turn ends: when they come, and what they cost."""

import pytest

from paca import events
from paca.engine.limits import TurnLimits, TurnProgress
from paca.engine.llm.base import Text
from paca.engine.reminders import DEFAULT_VERIFICATION
from tests.engine.world import World
from tests.support.model_script import calls, says

pytestmark = pytest.mark.anyio
WRITES = ("write_file", {"path": "a.txt", "content": "a"})
ALWAYS = {"verification": "always"}


def reminders(world):
    return [event.kind for event in world.find(events.ReminderGiven)]


def texts(request):
    return [b.text for m in request.messages for b in m.blocks if isinstance(b, Text)]


async def test_agent_is_asked_once_to_check_what_it_changed():
    world = World(calls(WRITES), says("Done."), calls(WRITES), says("Checked."), **ALWAYS)
    await world.ask("Write a.txt")
    assert world.status == "finished/answered"
    assert reminders(world) == ["verification"]
    assert any(DEFAULT_VERIFICATION in text for text in texts(world.llm.requests[2]))
    assert [event.text for event in world.find(events.MessageSpoken)] == ["Done.", "Checked."]


async def test_own_text_takes_the_place_of_the_default():
    world = World(calls(WRITES), says("Done."), says("Checked."), verification_prompt="Run make.", **ALWAYS)  # fmt: skip
    await world.ask("Write a.txt")
    assert world.find(events.ReminderGiven)[0].text == "Run make."
    assert any(text.startswith("[Run make.\nThen write") for text in texts(world.llm.requests[-1]))


@pytest.mark.parametrize(
    ("profile", "unattended", "asked"),
    [
        ({}, True, False),
        (ALWAYS, False, True),
        ({"verification": "unattended"}, True, True),
        ({"verification": "unattended"}, False, False),
        ({"verification": "always", "demo": True}, False, False),
    ],
)
async def test_check_is_asked_for_where_the_settings_want_it(profile, unattended, asked):
    world = World(calls(WRITES), says("Done."), says("Checked."), unattended=unattended, **profile)
    await world.ask("Write a.txt")
    assert bool(reminders(world)) is asked


@pytest.mark.parametrize(
    "step",
    [
        calls(("read_file", {"path": "a.txt"})),
        calls(bash="ls"),
        calls(("write_todo_list", {"items": ["Look"]})),
        calls(("write_file", {"path": 5})),
        calls(("think", {"thought": "Well."})),
    ],
)
async def test_turn_that_changed_nothing_is_not_checked(step):
    world = World(step, says("Done."), files={"a.txt": "a"}, commands={"ls": "a.txt"}, **ALWAYS)
    await world.ask("Look")
    assert world.status == "finished/answered"
    assert reminders(world) == []


@pytest.mark.parametrize("limits", [{"steps": 2}, {"steps": 50, "turn_tokens": 12_000}])
async def test_turn_without_room_for_a_check_ends_with_its_answer(limits):
    world = World(calls(WRITES), says("Done."), limits=TurnLimits(**limits), **ALWAYS)
    await world.ask("Write a.txt")
    assert world.status == "finished/answered"
    assert reminders(world) == []


async def test_limit_that_is_reached_by_the_check_takes_no_answer():
    world = World(calls(WRITES), says("Done."), limits=TurnLimits(steps=5), **ALWAYS)
    world.new_limits[2] = TurnLimits(steps=2)  # lowered while the answer was written
    await world.ask("Write a.txt")
    assert reminders(world) == ["verification"]
    assert world.status == "finished/answered"


async def test_next_worker_does_not_ask_again():
    world = World(calls(WRITES), says("Done."), says("Checked."), **ALWAYS)
    world.send("Write a.txt")
    await world.wait_until(lambda: reminders(world))
    if world.can_lose_worker:
        await world.kill_worker()
        world.start_next_worker()
    await world.wait_until_idle()
    assert reminders(world) == ["verification"]
    assert world.status == "finished/answered"


async def test_hint_stands_behind_the_message_of_each_turn_and_in_no_system_prompt():
    world = World(calls(bash="ls"), says("A."), says("B."), commands={"ls": ""}, hint="Be exact.")
    await world.ask("One")
    await world.ask("Two")
    assert reminders(world) == ["hint", "hint"]
    assert all("Be exact." not in request.system for request in world.llm.requests)
    assert texts(world.llm.requests[0]) == ["One", "[From your settings: Be exact.]"]
    assert texts(world.llm.requests[2])[-2:] == ["Two", "[From your settings: Be exact.]"]
    for before, after in zip(world.llm.requests, world.llm.requests[1:], strict=False):
        whole = len(before.messages) - 1
        assert after.messages[:whole] == before.messages[:whole]  # the prefix stays the same


async def test_agent_without_a_hint_is_told_none():
    world = World(says("A."), hint="  ")
    await world.ask("One")
    assert reminders(world) == []


def test_hint_is_given_again_after_a_summary_and_in_the_next_turn():
    given = TurnProgress().advance(events.ReminderGiven(kind="hint", text="x"))
    assert given.reminders.hinted
    compacted = events.ContextCompacted(summary="", upto_seq=1, tokens_before=2, tokens_after=1)
    assert not given.advance(compacted).reminders.hinted
    assert not given.advance(events.TurnStarted(number=2)).reminders.hinted
