"""Questions to people: asked once, answered as people wrote it, and never in the way of the turn."""

import pytest

from paca import events
from paca.engine.context.trimming import leave_out, results_to_leave_out
from tests.engine.world import World
from tests.support.model_script import calls, says

pytestmark = pytest.mark.anyio

QUESTION = {
    "question": "Which database?",
    "choices": [{"label": "PostgreSQL", "description": "The larger one."}, {"label": "SQLite"}],
}


def ask(**changes):
    return calls(ask_person={**QUESTION, **changes})


async def test_question_waits_and_the_model_reads_the_answer_as_words_of_a_person():
    world = World(ask(), says("So be it."), approval="all")
    await world.ask("Set it up.")
    assert world.status == "waiting/question"
    [asked] = world.find(events.QuestionAsked)
    assert asked.question == "Which database?"
    assert asked.choices[1] == {"label": "SQLite", "description": ""}
    await world.answer("SQLite")
    assert world.outputs == ["Ada answered: SQLite"]
    assert "<data" not in world.last_request()
    assert world.status == "finished/answered"
    assert len(world.find(events.QuestionAsked)) == 1
    assert not world.find(events.ToolStarted)


async def test_question_may_be_free_text():
    world = World(ask(choices=[]), says("ok"))
    await world.ask("Go")
    await world.answer("Neither; use files.")
    assert world.outputs == ["Ada answered: Neither; use files."]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"question": ""}, "question"),
        ({"question": "  "}, "question"),
        ({"question": "x" * 2_001}, "question"),
        ({"question": "a\0b"}, "NUL"),
        ({"choices": [{"label": "one"}]}, "2 to 6 choices"),
        ({"choices": [{"label": str(n)} for n in range(7)]}, "2 to 6 choices"),
        ({"choices": [{"label": "a"}, {"label": "A "}]}, "different labels"),
        ({"choices": [{"label": ""}, {"label": "b"}]}, "choices"),
        ({"choices": [{"label": "x" * 101}, {"label": "b"}]}, "choices"),
        ({"choices": [{"label": "a", "description": "x" * 301}, {"label": "b"}]}, "choices"),
        ({"choices": [{"label": "a", "color": "red"}, {"label": "b"}]}, "choices"),
        ({"choices": "a or b"}, "choices"),
        ({"questions": "And?", "question": 7}, "questions"),
    ],
)
async def test_question_of_a_wrong_form_is_told_to_the_model_and_waits_for_nobody(change, words):
    world = World(ask(**change), says("ok"))
    await world.ask("Go")
    assert world.status == "finished/answered"
    assert words in world.outputs[0]
    assert "ask_person did not run" in world.outputs[0]
    assert not world.find(events.QuestionAsked)


async def test_questions_of_one_reply_ask_one_after_another_between_the_other_calls():
    world = World(
        calls(
            ("ask_person", QUESTION),
            ("read_file", {"path": "a.txt"}),
            ("ask_person", {"question": "And?"}),
        ),
        says("Done."),
        files={"a.txt": "text"},
    )
    await world.ask("Go")
    assert world.results == []
    await world.answer("SQLite")
    assert world.status == "waiting/question"
    assert "text" in world.outputs[1]
    await world.answer("Nothing.")
    assert [asked.question for asked in world.find(events.QuestionAsked)] == [
        "Which database?",
        "And?",
    ]
    assert world.outputs[::2] == ["Ada answered: SQLite", "Ada answered: Nothing."]


@pytest.mark.parametrize("ends", ["answer", "expiry"])
async def test_call_beside_a_question_waits_for_what_the_model_makes_of_the_answer(ends):
    world = World(
        calls(("ask_person", {"question": "May I delete it?"}), ("bash", {"command": "rm a"})),
        calls(bash="ls"),
        says("Done."),
        commands={"ls": "a", "rm a": ""},
    )
    await world.ask("Go")
    if ends == "answer":
        await world.answer("No!")
    else:
        world.expire()
        await world.wait_until_idle()
    assert world.commands == ["ls"], "the next reply runs its calls again"
    assert world.results[1].cause == "refused"
    assert "in the same reply as a question to people" in world.outputs[1]


async def test_message_supersedes_the_question_and_the_turn_goes_on_with_all_its_tools():
    world = World(
        calls(("ask_person", QUESTION), ("bash", {"command": "rm a"})),
        calls(bash="ls"),
        says("Done."),
        commands={"ls": "a.txt", "rm a": ""},
    )
    await world.ask("Go")
    world.send("Take what is there.")
    await world.wait_until_idle()
    assert world.outputs[0].startswith("Not answered: a message came first.")
    assert world.commands == ["ls"], "the rest of the reply does not run, the next reply does"
    assert "Take what is there." in str(world.llm.requests[1].messages)


async def test_question_that_nobody_answers_lets_the_model_decide():
    world = World(ask(), says("I took SQLite."))
    await world.ask("Go")
    world.expire()
    await world.wait_until_idle()
    assert "Nobody answered in time. Go on with your best judgement" in world.outputs[0]
    assert world.answers == ["I took SQLite."]


async def test_stop_ends_a_question_with_a_result():
    world = World(ask())
    await world.ask("Go")
    world.stop()
    await world.wait_until_idle()
    assert world.status == "stopped/by_person"
    assert [result.cause for result in world.results] == ["cancelled"]


async def test_worker_that_dies_after_the_answer_asks_nothing_twice():
    world = World(ask(), says("Done."), says("Done."))
    await world.ask("Go")
    request = world.waits_for
    world.waits_for = None
    world.log.append(events.QuestionAnswered(call_id=request.call_id, text="SQLite", by="Ada"))
    world.start_next_worker()
    await world.wait_until(lambda: world.can_lose_worker)
    await world.kill_worker()
    await world.take_over()
    assert world.outputs == ["Ada answered: SQLite"]
    assert len(world.find(events.QuestionAsked)) == 1


async def test_trimming_keeps_answers_of_people():
    long = "long " * 200
    world = World(ask(), calls(bash="ls"), calls(bash="ls"), says("Done."), commands={"ls": long})
    await world.ask("Go")
    await world.answer(long)
    messages = world.llm.requests[-1].messages
    count = results_to_leave_out(messages, window=100)
    assert count == 2
    trimmed = str(leave_out(messages, count))
    assert f"Ada answered: {long}" in trimmed
    assert "left out" in trimmed
