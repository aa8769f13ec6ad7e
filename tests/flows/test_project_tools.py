"""An agent works on its project, and its worker dies around a write: nothing is written twice."""

import pytest

from paca.projects.models import Activity, Comment, KeyedWrite, Member, Task
from paca.projects.services import members, tasks
from tests.support.flow import Flow, assert_replay_matches
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

WRITES = calls(
    ("add_comment", {"task": "HARB-1", "text": "Done, @ada-harbor."}),
    ("update_task", {"task": "HARB-1", "status": "Done"}),
    ("create_task", {"title": "Test the login"}),
)


def begin(flow: Flow):
    tasks.create(flow.world.project, title="Fix the login", by=flow.world.owner)
    read = calls(("read_task", {"task": "HARB-1"}))
    return flow.begin("Fix HARB-1", [read, WRITES, says("It is done.")])


def assert_written_once(conversation) -> None:
    assert conversation.answers == ["It is done."]
    task, new = Task.objects.order_by("number")
    (comment,) = Comment.objects.all()
    assert (task.status.name, new.title, comment.task) == ("Done", "Test the login", task)
    assert comment.conversation_id == conversation.id
    # Two were created, one was updated; each call has its key.
    assert Activity.objects.count() == 3
    assert KeyedWrite.objects.count() == 3
    assert not conversation.has_event("tool.outcome_unknown")
    assert_replay_matches(conversation)


def test_agent_works_on_its_project_and_quotes_it_as_data(flow: Flow) -> None:
    conversation = begin(flow)
    flow.wait_until_idle(conversation)
    assert_written_once(conversation)
    assert not conversation.has_event("sandbox.started")
    read, *written = conversation.event_data("tool.called")
    assert (read["effect"], read["subject"]) == ("read_only", "HARB-1")
    assert [call["effect"] for call in written] == ["keyed"] * 3
    assert flow.model.violations == []
    assert "from read_task>" in str(flow.model.requests[1].body)


def test_viewer_agent_that_is_told_to_edit_a_task_reads_the_refusal_and_changes_nothing(
    flow: Flow,
) -> None:
    world = flow.world
    member = Member.objects.get(agent=world.agent)
    members.change_role(member, role=world.role("viewer"), by=world.owner)
    conversation = begin(flow)
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["It is done."]
    read, *refused = conversation.event_data("tool.returned")
    assert not read["failed"]
    assert [each["cause"] for each in refused] == ["refused"] * 3
    assert "Your role, Viewer, does not allow this; it needs tasks:write." in refused[0]["output"]
    (task,) = Task.objects.all()
    assert (task.status.name, Comment.objects.count()) == ("Backlog", 0)
    assert Activity.objects.get().kind == "task.created"


def test_worker_that_dies_after_a_write_leaves_it_to_the_next_and_it_happened_once(
    flow: Flow,
) -> None:
    """``make chaos PART=TOOLS`` does it at every point and for every tool."""
    flow.stop_worker()
    with WorkerProcess(flow.folder, fault="write-stored:2") as process:
        conversation = begin(flow)
        process.wait_until_dead()
        assert KeyedWrite.objects.count() == 2
        process.start()
        flow.wait_until_idle(conversation)
    assert_written_once(conversation)
