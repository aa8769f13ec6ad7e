"""An answer that only announces work: in an unattended turn the model is told, once, to do it."""

import pytest

from paca import events
from paca.engine.promised_work import promises_work
from tests.engine.world import World
from tests.support.model_script import Scripted, calls, says

pytestmark = pytest.mark.anyio

PROMISE = "Let me check the tests first."


async def test_announced_work_is_done_in_an_unattended_turn():
    world = World(
        says(PROMISE), calls(bash="ls"), says("They pass."), commands={"ls": "a"}, unattended=True
    )
    await world.ask("Are the tests green?")
    assert world.commands == ["ls"]
    assert world.answers == [PROMISE, "They pass."]
    (noticed,) = world.find(events.GuardNoticed)
    assert noticed.guard == "promised_work"
    assert "Do it now with your tools" in str(world.llm.requests[1].messages[-1])


async def test_second_announcement_of_a_turn_is_its_answer_and_the_next_turn_is_told_again():
    world = World(says(PROMISE), says(PROMISE), unattended=True)
    await world.ask("Are the tests green?")
    assert world.status == "finished/answered"
    assert len(world.llm.requests) == 2
    await world.ask("Well?", says(PROMISE), says("They are."))
    assert world.answers[-1] == "They are."
    assert len(world.find(events.GuardNoticed)) == 2


async def test_worker_that_takes_over_does_not_tell_it_twice():
    world = World(
        says(PROMISE), calls(bash="ls"), says("Done."), commands={"ls": "a"}, unattended=True
    )
    world.send("Look")
    await world.wait_until(lambda: world.results)
    await world.kill_worker()
    world.start_next_worker()
    await world.wait_until_idle()
    assert world.status == "finished/answered"
    assert len(world.find(events.GuardNoticed)) == 1


async def test_announcement_in_a_chat_is_an_answer():
    world = World(says(PROMISE))
    await world.ask("Are the tests green?")
    assert (world.status, world.answers) == ("finished/answered", [PROMISE])
    assert len(world.llm.requests) == 1


async def test_announcement_to_a_person_who_writes_in_an_unattended_conversation_is_an_answer():
    world = World(says("Done."), says(PROMISE), unattended=True)
    await world.ask("Look at the tests")
    world.log.append(events.MessageReceived(text="Are they green?"))
    await world.proceed()
    assert world.answers == ["Done.", PROMISE]
    assert world.find(events.GuardNoticed) == []


async def test_announcement_of_a_model_that_declined_is_no_promise():
    world = World(Scripted(("I will stop here.",), stop="refusal"), unattended=True)
    await world.ask("Do what you must not")
    assert world.status == "failed/model_refused"
    assert world.find(events.GuardNoticed) == []


@pytest.mark.parametrize(
    "text",
    [
        PROMISE,
        "I see two modules.\n\nNow let me read the first one:",
        "OK. I’ll run the suite and report.",
        "**Next, I will fix the import.**",
        "I'm going to look at the logs",
    ],
)
def test_last_sentence_that_announces_the_next_step_is_a_promise(text):
    assert promises_work(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All 12 tests pass.",
        "Let me know if you want more.",
        "I will run it again when the server is back.",
        "I'll fix the import. Which of the two modules do you mean?",
        "I will not change the API.",
        "I'll keep an eye on the queue.",
        "The user says: I will come.\nThe report is in notes.md.",
        "Let me check the tests first. They pass.",
    ],
)
def test_report_question_or_condition_is_no_promise(text):
    assert not promises_work(text)
