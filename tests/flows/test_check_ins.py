"""A check-in comes due while workers run and die: it runs once, with read-only tools, and reports."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from paca.conversations.models import CheckIn, CheckInRun, Conversation
from paca.conversations.services import check_ins
from paca.projects.models import Comment, Task
from paca.projects.services import tasks
from tests.chaos.points import CHECK_IN_POINTS
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def due(flow: Flow, **settings: Any) -> CheckIn:
    """A check-in whose slot is due. The next worker that starts finds it at once."""
    flow.stop_worker()
    check_in = check_ins.create(
        flow.world.agent,
        name="Board",
        prompt="What is stuck?",
        every_minutes=60,
        by=flow.world.owner,
        **settings,
    )
    CheckIn.objects.filter(pk=check_in.pk).update(next_at=timezone.now() - timedelta(seconds=1))
    return check_in


def the_run(flow: Flow) -> ObservedConversation:
    wait_until(lambda: Conversation.objects.filter(trigger_type="check_in").exists())
    conversation = ObservedConversation(Conversation.objects.get().pk)
    flow.wait_until_idle(conversation)
    return conversation


def new_task(flow: Flow) -> Task:
    return tasks.create(flow.world.project, title="Write the notes", by=flow.world.owner)


def test_due_check_in_reads_cannot_write_and_reports_to_the_task(flow: Flow) -> None:
    task = new_task(flow)
    check_in = due(flow, task=task)
    flow.model.script(
        [
            calls(list_tasks={}),
            calls(bash="touch here"),
            calls(update_task={"task": task.number, "title": "Mine"}),
            says("One task is open."),
        ]
    )
    flow.start_worker()
    conversation = the_run(flow)
    listed, ran, changed = conversation.event_data("tool.returned")
    assert not listed["failed"]
    assert "bash did not run: you have read-only tools" in ran["output"]
    assert "update_task did not run: you have read-only tools" in changed["output"]
    offered = {tool["name"] for tool in flow.model.requests[0].body["tools"]}
    assert not offered & {"bash", "write_file", "edit_file", "update_task", "add_comment"}
    assert {"read_file", "list_tasks", "think"} <= offered
    assert list(Comment.objects.values_list("text", flat=True)) == ["One task is open."]
    assert Task.objects.get(pk=task.pk).title == "Write the notes"
    assert CheckInRun.objects.get().conversation_id == conversation.id
    assert CheckIn.objects.get(pk=check_in.pk).next_at > timezone.now()
    assert_replay_matches(conversation)


def test_check_in_that_may_act_changes_a_task(flow: Flow) -> None:
    task = new_task(flow)
    due(flow, auto_act=True)
    flow.model.script([calls(update_task={"task": task.number, "title": "Mine"}), says("Done.")])
    flow.start_worker()
    the_run(flow)
    assert Task.objects.get(pk=task.pk).title == "Mine"
    assert not Comment.objects.exists()


@pytest.mark.parametrize("fault", CHECK_IN_POINTS)
def test_worker_that_dies_around_the_commit_of_a_slot_leaves_one_run(
    flow: Flow, fault: str
) -> None:
    task = new_task(flow)
    due(flow, task=task)
    flow.model.script([says("All is well.")])
    with WorkerProcess(flow.folder, fault=fault) as doomed:
        doomed.wait_until_dead()
    assert CheckInRun.objects.count() == (fault == "check-in-stored")
    flow.start_worker()
    conversation = the_run(flow)
    assert CheckInRun.objects.get().conversation_id == conversation.id
    assert list(Comment.objects.values_list("text", flat=True)) == ["All is well."]
    assert_replay_matches(conversation)
