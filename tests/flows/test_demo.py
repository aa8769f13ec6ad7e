"""The demo model in the whole product: worker, engine, real tools and sandbox, without an API key."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paca.conversations.models import Conversation, Suggestion
from paca.conversations.services import instructions
from paca.engine.llm.demo import board, scripted_model
from paca.projects.models import Comment, Member, Task
from paca.projects.services import comments, tasks
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

LOOK, PROGRAM, BUG = (prompt for _, prompt in scripted_model.PROMPTS)


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flow]:
    """A flow whose agent has the demo model, without its pauses."""
    monkeypatch.setattr(scripted_model, "PIECES_PER_SECOND", 0)
    with Flow(tmp_path, model=scripted_model.MODEL, base_url="", llm_api_key="") as found:
        yield found


def test_demo_model_carries_out_every_prompt_in_one_conversation(flow):
    conversation = flow.ask(PROGRAM)
    flow.ask(BUG, after=conversation)
    flow.ask(LOOK, after=conversation)
    assert conversation.status == "finished/answered"
    assert not any("try once more" in answer for answer in conversation.answers)
    answers = [fact for fact in conversation.event_data("message.spoken") if "```" in fact["text"]]
    assert [fact["demo"] for fact in answers] == [True] * 3
    program, bug, look = (fact["text"] for fact in answers)
    assert "17 primes below 60" in program
    assert "78498 primes below 1000000" in program
    assert "AssertionError" in bug
    assert "OK" in bug
    assert "primes.py" in look
    assert {usage["cost_usd"] for usage in conversation.event_data("usage.recorded")} == {0.0}
    assert flow.model.requests == []
    assert_replay_matches(conversation)


def test_demo_model_repeats_a_job(flow):
    conversation = flow.ask(BUG)
    flow.ask(BUG, after=conversation)
    assert "The bug is found and fixed" in conversation.answers[-1]
    assert not any("try once more" in answer for answer in conversation.answers)


def test_demo_model_says_what_it_cannot_do(flow):
    conversation = flow.ask("Write me a poem")
    assert conversation.answers == [scripted_model.HELP]
    assert_replay_matches(conversation)


def test_demo_model_goes_on_with_a_stopped_job(flow, monkeypatch):
    monkeypatch.setattr(scripted_model, "PIECES_PER_SECOND", 20)
    conversation = flow.begin(BUG)
    wait_until(lambda: conversation.has_event("tool.returned"))
    flow.stop(conversation)
    flow.wait_until_idle(conversation)
    assert conversation.status == "stopped/by_person"
    flow.ask("continue", after=conversation)
    assert "The bug is found and fixed" in conversation.answers[-1]
    assert_replay_matches(conversation)


# --- on tasks -------------------------------------------------------------------------------------

PRIMES, CART, _ = board.TASKS


def assign(flow: Flow, title: str) -> tuple[Task, ObservedConversation]:
    """A new task, assigned to the agent, and the conversation when the agent is idle again."""
    world = flow.world
    task = tasks.create(world.project, title=title, by=world.owner)
    tasks.assign(task, to=Member.objects.with_names().get(agent=world.agent), by=world.owner)
    conversation = ObservedConversation(Conversation.objects.get(task=task).pk)
    flow.wait_until_idle(conversation)
    task.refresh_from_db()
    return task, conversation


def ask_on(task: Task, flow: Flow, conversation: ObservedConversation, words: str) -> str:
    """The reply of the agent to a comment that mentions it."""
    asked = comments.add(task, text=f"@rosa {words}", by=flow.world.owner)
    wait_until(lambda: Comment.objects.filter(parent=asked).exists())
    flow.wait_until_idle(conversation)
    return Comment.objects.get(parent=asked).text


def test_demo_model_does_a_task_moves_it_and_goes_on_in_the_same_workspace(flow):
    task, conversation = assign(flow, PRIMES.title)
    (comment,) = Comment.objects.filter(task=task)
    assert comment.author.agent == flow.world.agent
    assert "17 primes below 60" in comment.text
    assert "moved HARB-1 to *Done*" in comment.text
    assert task.status.name == "Done"
    moves = [
        change["new"]
        for entry in task.activities.order_by("created_at", "id")
        for change in entry.changes
        if change["field"] == "status"
    ]
    assert moves == ["In progress", "Done"]
    assert "Write a program that finds prime numbers" in conversation.outputs[0]

    reply = ask_on(task, flow, conversation, "Also print their sum, please")
    assert "17 primes below 60, their sum is 440" in reply
    assert "primes.py" in conversation.outputs[-3]
    assert "their sum is 440" in ask_on(task, flow, conversation, "print their sum")
    assert "python3 primes.py 100" in ask_on(task, flow, conversation, "Also write a README")
    assert ask_on(task, flow, conversation, "Write a poem") == scripted_model.TASK_HELP
    assert Comment.objects.filter(task=task).count() == 9
    assert Conversation.objects.count() == 1
    assert_replay_matches(conversation)


def test_demo_model_that_cannot_move_its_task_says_so(flow):
    flow.world.project.statuses.filter(name="Done").update(name="Shipped")
    task, _ = assign(flow, CART.title)
    comment = Comment.objects.get(task=task)
    assert "The bug is found and fixed" in comment.text
    assert "could not move HARB-1" in comment.text
    assert "Shipped" in comment.text
    assert task.status.name == "In progress"


def test_demo_model_leaves_other_tasks_as_they_are(flow):
    task, conversation = assign(flow, "Rewrite it in Rust")
    assert Comment.objects.get(task=task).text == scripted_model.TASK_HELP
    assert task.status.name == "Backlog"
    assert conversation.outputs == []


def test_demo_model_suggests_a_description_and_marks_it_as_a_demo(flow):
    world = flow.world
    task = tasks.create(
        world.project, title="Sort the nets", description="By **size**.", by=world.owner
    )
    instructions.write_description(world.agent, task, instruction="Briefly.", by=world.owner)
    suggestion = wait_until(lambda: Suggestion.objects.first())
    assert "Demo text" in suggestion.text
    assert "Sort the nets" in suggestion.text
    assert "By **size**." in suggestion.text
    assert "Briefly" not in suggestion.text
