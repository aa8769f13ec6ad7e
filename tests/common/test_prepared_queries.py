"""Prepared queries give the same rows as the ORM."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models import CharField, DurationField, F, UUIDField
from django.db.models.functions import Now
from django.utils import timezone

from paca.agents.models import Agent
from paca.common.prepared_queries import Parameter, Select, Update
from paca.conversations import services
from paca.conversations.models import Conversation
from tests.support.world import make_world

pytestmark = pytest.mark.django_db

BY_ID = Select(
    lambda: Agent.objects.filter(pk=Parameter("id", UUIDField())).values_list(
        "pk", "name", "parameters", "limit_cost_usd", "created_at", "project__name"
    )
)
LEASED = Update(
    lambda: Conversation.objects.filter(
        pk=Parameter("id", UUIDField()),
        agent__isnull=False,
        status=Parameter("status", CharField()),
    ),
    lease_owner=Parameter("owner", CharField()),
    lease_epoch=F("lease_epoch") + 1,
    lease_until=Now() + Parameter("length", DurationField()),
)


def test_prepared_select_gives_the_rows_that_the_orm_gives():
    made = [
        make_world("One", parameters={"effort": "high"}, limit_cost_usd="1.5").agent,
        make_world("Two", handle="rosa2").agent,
    ]
    for agent in made:
        read = Agent.objects.filter(pk=agent.pk).values_list(
            "pk", "name", "parameters", "limit_cost_usd", "created_at", "project__name"
        )
        assert BY_ID.rows(id=agent.pk) == list(read)
    assert BY_ID.rows(id=uuid4()) == []


def test_prepared_update_writes_only_to_the_rows_of_its_query():
    world = make_world()
    one, other = (
        services.start_chat(world.agent, text=text, by=world.owner).conversation_id
        for text in ("one", "other")
    )
    values = {"owner": "it's me", "length": timedelta(seconds=90)}
    assert LEASED.run(id=one, status="running", **values) == 0
    assert LEASED.run(id=one, status="queued", **values) == 1
    written, untouched = Conversation.objects.get(pk=one), Conversation.objects.get(pk=other)
    assert (written.lease_owner, written.lease_epoch) == ("it's me", 1)
    assert written.lease_until is not None
    left = written.lease_until - timezone.now()
    assert timedelta(seconds=60) < left <= timedelta(seconds=90)
    assert (untouched.lease_owner, untouched.lease_epoch) == ("", 0)


@pytest.mark.parametrize("name", ["it's", "100 %s", "%%", '"', "back\\slash", "?"])
def test_prepared_select_quotes_constant_texts(name):
    agent = make_world().agent
    named = Select(
        lambda: Agent.objects.filter(name=name, pk=Parameter("id", UUIDField())).values_list("name")
    )
    assert named.rows(id=agent.pk) == []
    Agent.objects.update(name=name)
    assert named.rows(id=agent.pk) == [(name,)]


def test_prepared_select_without_a_value_for_a_parameter_raises():
    with pytest.raises(KeyError):
        BY_ID.rows()
