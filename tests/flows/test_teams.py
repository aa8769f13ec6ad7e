"""A team with real workers and sandboxes: it claims tasks, wakes its lead, and comes back after a restart."""

import pytest

from paca.conversations.models import Conversation, Teammate, TeamTask
from paca.projects.services import tasks
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

LONG = 240.0  # seconds, on a machine that does much else


def mate_of(conversation: ObservedConversation, name: str) -> ObservedConversation:
    found = Teammate.objects.get(lead=conversation.id, name=name)
    return ObservedConversation(found.conversation_id)


def test_team_works_on_a_task_wakes_its_lead_and_outlives_a_restart(tmp_path):
    with Flow(tmp_path, limit_concurrent=4, teams=True) as flow:
        task = tasks.create(flow.world.project, title="Login", by=flow.world.owner)
        flow.model.script(
            [
                calls(spawn_teammate={"name": "ann", "role": "tester", "work": "write-alpha"}),
                calls(add_team_tasks={"tasks": [task.key]}),
                says("Ann works."),
                says("All is done."),
                says("Really."),
            ],
            to="Lead a team",
        )
        flow.model.script(
            [
                calls(bash="touch alpha; until [ -e go-on ]; do sleep 0.05; done"),
                says("Alpha is written."),
                says("Login is done."),
            ],
            to="write-alpha",
        )
        conversation = flow.begin("Lead a team")
        wait_until(lambda: Teammate.objects.exists(), LONG)
        ann = mate_of(conversation, "ann")
        wait_until(
            lambda: flow.file_of(conversation, "alpha").exists(), LONG, lambda: str(ann.event_types)
        )
        wait_until(lambda: conversation.status == "finished/answered", LONG)
        flow.stop_worker()  # while ann runs a command
        assert Conversation.objects.get(pk=ann.id).status == "running"
        flow.start_worker()
        flow.let_command_end(conversation)
        wait_until(
            lambda: "All is done." in conversation.answers, LONG, lambda: str(ann.event_types)
        )
        assert ann.answers == ["Alpha is written.", "Login is done."]
        assert TeamTask.objects.filter(claimed_at__isnull=False).count() == 1
        wait_until(lambda: conversation.row.status == "finished", LONG)
        assert_replay_matches(ann)
        assert_replay_matches(conversation)
