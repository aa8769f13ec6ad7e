"""An agent is assigned a task, works, comments with its answer, and goes on when it is mentioned."""

import pytest

from paca.conversations.models import Conversation, PendingTrigger
from paca.projects.models import Comment, KeyedWrite, Member, Notification, Task
from paca.projects.services import comments, tasks
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def assign(flow: Flow) -> Task:
    """A task of the project, assigned to the agent by its owner."""
    world = flow.world
    task = tasks.create(world.project, title="Write the notes", by=world.owner)
    rosa = Member.objects.with_names().get(agent=world.agent)
    return tasks.assign(task, to=rosa, by=world.owner)


def the_conversation() -> ObservedConversation:
    return ObservedConversation(Conversation.objects.get().pk)


def answers_on(task: Task) -> list[str]:
    found = Comment.objects.filter(task=task, author__kind=Member.Kind.AGENT)
    return list(found.values_list("text", flat=True))


def test_assigned_agent_works_comments_and_goes_on_in_the_same_workspace(flow: Flow) -> None:
    flow.model.script([calls(bash="echo one > notes.txt"), says("The notes are written.")])
    task = assign(flow)
    conversation = the_conversation()
    flow.wait_until_idle(conversation)
    assert answers_on(task) == ["The notes are written."]

    flow.model.script([calls(bash="echo two >> notes.txt; cat notes.txt"), says("Two lines now.")])
    question = comments.add(task, text="@rosa add a second line", by=flow.world.owner)
    wait_until(lambda: len(answers_on(task)) == 2)
    flow.wait_until_idle(conversation)
    assert "one\ntwo" in conversation.outputs[-1]
    assert Comment.objects.get(text="Two lines now.").parent == question
    assert Conversation.objects.count() == 1
    assert flow.model.violations == []
    assert not Notification.objects.filter(kind="assigned").exists()
    started = task.activities.filter(kind="agent.session.started")
    assert {entry.conversation_id for entry in started} == {conversation.id}
    assert_replay_matches(conversation)


@pytest.mark.parametrize("fault", ["answer-unposted", "answer-half-posted"])
def test_worker_that_dies_between_the_answer_and_the_comment_leaves_one_comment(
    flow: Flow, fault: str
) -> None:
    flow.stop_worker()
    flow.model.script([says("Done."), says("Done.")])
    with WorkerProcess(flow.folder, fault=fault) as doomed:
        task = assign(flow)
        doomed.wait_until_dead()
    assert answers_on(task) == []
    flow.start_worker()
    conversation = the_conversation()
    flow.wait_until_idle(conversation)
    assert answers_on(task) == ["Done."]
    assert conversation.answers == ["Done."]
    assert KeyedWrite.objects.count() == 1
    assert_replay_matches(conversation)


def test_worker_delivers_an_assignment_that_its_process_left(flow: Flow, monkeypatch) -> None:
    """The web server died after the commit: its callbacks never ran."""
    flow.model.script([says("Done.")])
    with monkeypatch.context() as dead:
        dead.setattr("paca.conversations.services.delivery.deliver", lambda _: None)
        task = assign(flow)
        assert PendingTrigger.objects.count() == 1
    wait_until(lambda: answers_on(task) == ["Done."])
    assert not PendingTrigger.objects.exists()


def test_deleted_task_stops_the_work_on_it(flow: Flow) -> None:
    flow.model.script([calls(bash="sleep 300")])
    task = assign(flow)
    conversation = the_conversation()
    wait_until(lambda: conversation.has_event("tool.started"))
    tasks.delete(task, by=flow.world.owner)
    assert flow.wait_until_idle(conversation) == "stopped/task_deleted"
    assert answers_on(task) == []


def test_unassigned_agent_is_stopped(flow: Flow) -> None:
    flow.model.script([calls(bash="sleep 300")])
    task = assign(flow)
    conversation = the_conversation()
    wait_until(lambda: conversation.has_event("tool.started"))
    tasks.change(task, by=flow.world.owner, assignees=[])
    assert flow.wait_until_idle(conversation) == "stopped/unassigned"
    assert answers_on(task) == []
