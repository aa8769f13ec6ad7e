"""The order of claims: projects take turns, and priority counts within a project until work has waited long."""

from datetime import timedelta

import pytest
from django.utils import timezone

from paca.agents.services import agents
from paca.conversations import services
from paca.conversations.models import Conversation
from paca.worker import claim, claim_queries
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db(transaction=True)


def queue(here: World, *, minutes: float = 0, number: int = 1) -> list[str]:
    """Conversations of the agent that have waited for so long; gives their names, the longest waiting first."""
    names = []
    for index in range(number):
        names.append(f"{here.project.name} {index}")
        made = services.start_chat(here.agent, text="Go", by=here.owner).conversation_id
        waiting_since = timezone.now() - timedelta(minutes=minutes, seconds=-index)
        Conversation.objects.filter(pk=made).update(title=names[-1], queued_at=waiting_since)
    return names


def waiting() -> list[str]:
    return [each.title for each in claim_queries.claimable()]


def add_agent(here: World, priority: int) -> World:
    """The same project with another agent of this priority."""
    name = f"agent{priority}"
    facts = {"name": name, "handle": name, "model": "demo/guide", "priority": priority}
    made = agents.create(here.project, role=here.role("agent"), by=here.owner, **facts)
    return World(here.user, here.project, here.owner, made)


def test_projects_take_turns_whatever_the_priority_of_their_agents():
    urgent, other = make_world("Urgent", priority=3), make_world("Other", priority=0)
    queue(urgent, minutes=5, number=3)
    queue(other, minutes=1, number=2)
    assert waiting() == ["Urgent 0", "Other 0", "Urgent 1", "Other 1", "Urgent 2"]


def test_project_without_running_work_comes_first():
    busy, idle = make_world("Busy", priority=3), make_world("Idle")
    queue(busy, minutes=9, number=3)
    assert len(claim.claim("w", lease_seconds=60, limit=2)) == 2
    queue(idle, minutes=1, number=2)
    assert waiting() == ["Idle 0", "Idle 1", "Busy 2"]


def test_claims_of_a_full_queue_leave_room_for_other_projects():
    full, late = make_world("Full", priority=3), make_world("Late")
    queue(full, minutes=9, number=3)
    queue(late)
    claimed = claim.claim("w", lease_seconds=60, limit=2)
    assert [each.rows.conversation.title for each in claimed] == ["Full 0", "Late 0"]


def test_work_that_has_waited_long_comes_before_that_of_a_higher_priority():
    low = make_world("Low", priority=0)
    high = add_agent(low, 3)
    queue(high)
    Conversation.objects.update(title="urgent")
    queue(low, minutes=9)
    assert waiting() == ["urgent", "Low 0"]
    Conversation.objects.filter(agent=low.agent).update(
        queued_at=timezone.now() - claim_queries.AGED_AFTER
    )
    assert waiting() == ["Low 0", "urgent"]


def test_old_work_is_begun_in_the_order_of_its_wait():
    low = make_world("Low", priority=0)
    high = add_agent(low, 3)
    queue(high, minutes=11)
    Conversation.objects.update(title="newer")
    queue(low, minutes=12)
    Conversation.objects.filter(agent=low.agent).update(title="older")
    assert waiting() == ["older", "newer"]


def test_message_and_new_title_keep_the_place_of_waiting_work():
    here = make_world("Here")
    queue(here, minutes=5, number=2)
    first = Conversation.objects.get(title="Here 0")
    services.send(first, text="And this", by=here.owner)
    services.rename(first, title="Renamed", by=here.owner)
    assert waiting() == ["Renamed", "Here 1"]


def test_work_that_was_begun_comes_first_in_its_project():
    here = make_world("Here", limit_concurrent=5)
    queue(here)
    claim.claim("a worker that dies", lease_seconds=60, limit=1)
    queue(here, minutes=20, number=2)
    Conversation.objects.filter(status="running").update(
        title="begun", lease_until=timezone.now() - timedelta(seconds=1)
    )
    assert waiting() == ["begun", "Here 0", "Here 1"]
