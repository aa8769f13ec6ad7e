"""Assigned work of an agent without automatic start waits until a person starts it."""

import pytest

from paca.agents import services as agents
from paca.conversations import services as conversations
from paca.conversations.models import Conversation
from paca.conversations.services.inbox import AgentUnavailable
from paca.projects.services import tasks
from paca.worker import claim
from tests.conversations.team import Team, store_events

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    team = Team(auto_start=False)
    team.assign()
    return team


def claimed() -> list[claim.Claimed]:
    return claim.claim("test", lease_seconds=60, limit=9)


def test_assignment_waits_and_says_so(team):
    held = team.conversation()
    assert (held.status, held.waits_for) == ("queued", "start")
    assert held.waits_for_start
    assert claimed() == []
    assert team.timeline.count("agent.session.started") == 0
    queued = [event for event in store_events(held) if event.type == "agent.conversation.queued"]
    assert [event.held for event in queued] == [True]


def test_continue_starts_it_once_and_the_timeline_tells_it(team):
    url = f"/projects/{team.world.project.pk}/conversations/{team.conversation().pk}/"
    assert team.api.get(url).data["waits_for"] == "start"
    for _ in range(2):
        assert team.api.post(f"{url}continue/", {}).status_code == 202
    assert team.api.get(url).data["waits_for"] == "worker"
    assert team.timeline.count("agent.session.started") == 1
    assert team.run_turn("Fixed.").status == "finished"


@pytest.mark.parametrize("how", ["mention", "message"])
def test_words_of_a_person_start_it(team, how):
    if how == "mention":
        team.comment("@rosa please begin")
    else:
        conversations.send(team.conversation(), text="Please begin.", by=team.ada)
    assert team.conversation().waits_for == "worker"
    assert team.timeline.count("agent.session.started") == 1
    assert len(claimed()) == 1


def test_mention_alone_begins_at_once():
    team = Team(auto_start=False)
    team.comment("@rosa what is this?")
    assert team.conversation().waits_for == "worker"
    assert len(claimed()) == 1


def test_assignment_joins_work_that_has_begun(team):
    team.comment("@rosa please begin")
    team.start_turn()
    tasks.change(team.task, by=team.ada, assignees=[])
    tasks.assign(team.task, to=team.rosa, by=team.ada)
    assert team.conversation().status == "running"


def test_second_assignment_does_not_start_the_first(team):
    tasks.assign(team.task, to=team.ada, by=team.ada)
    tasks.assign(team.task, to=team.rosa, by=team.ada)
    team.deliver()
    assert team.conversation().waits_for_start


def test_unassignment_ends_it_and_a_later_mention_begins_at_once(team):
    tasks.change(team.task, by=team.ada, assignees=[])
    team.deliver()
    stopped = team.conversation()
    assert (stopped.status, stopped.reason, stopped.waits_for) == ("stopped", "unassigned", "")
    team.comment("@rosa after all?")
    assert team.conversation().waits_for == "worker"


def test_assignment_after_a_finished_turn_waits_again(team):
    conversations.continue_(team.conversation(), by=team.ada)
    team.run_turn("Fixed.")
    tasks.change(team.task, by=team.ada, assignees=[])
    team.deliver()
    team.assign()
    assert team.conversation().waits_for_start


def test_start_of_an_inactive_agent_is_refused_and_the_work_stays(team):
    agents.configure(team.rosa.agent, by=team.ada, status="inactive")
    with pytest.raises(AgentUnavailable):
        conversations.continue_(team.conversation(), by=team.ada)
    assert team.conversation().waits_for_start


def test_setting_counts_at_the_assignment(team):
    agents.configure(team.rosa.agent, by=team.ada, auto_start=True)
    assert team.conversation().waits_for_start
    other = team.add_task("Another")
    tasks.assign(other, to=team.rosa, by=team.ada)
    team.deliver()
    assert Conversation.objects.get(task=other).waits_for == "worker"


def test_held_work_takes_no_place_and_hides_no_other(team):
    other = team.hire("Otto")
    team.task = team.add_task("Another")
    team.assign(other)
    (only,) = claimed()
    assert only.rows.agent.pk == other.agent_id
