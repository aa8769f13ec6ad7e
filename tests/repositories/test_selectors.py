"""Which repositories a project and its agents reach."""

import pytest

from paca.common.errors import NotFound
from paca.repositories import selectors
from paca.repositories.models import AgentRepositories
from tests.support.repositories import make_connection, make_repository
from tests.support.world import make_world

pytestmark = pytest.mark.django_db


def test_a_project_reaches_its_own_repositories_only() -> None:
    ours, theirs = make_world("Ours"), make_world("Theirs")
    connection = make_connection(theirs.project)
    repository = make_repository(theirs.project, connection=connection)
    assert selectors.get_repository(theirs.project, repository.pk) == repository
    assert selectors.get_connection(theirs.project, connection.pk) == connection
    with pytest.raises(NotFound):
        selectors.get_repository(ours.project, repository.pk)
    with pytest.raises(NotFound):
        selectors.get_connection(ours.project, connection.pk)
    assert not selectors.for_agent(ours.agent)


def test_an_agent_uses_the_repositories_that_its_setting_allows() -> None:
    world = make_world()
    shop, docs = (make_repository(world.project, name) for name in ("shop", "docs"))
    assert [*selectors.for_agent(world.agent)] == [docs, shop]
    setting = AgentRepositories.objects.create(agent=world.agent, access="chosen")
    setting.chosen.add(shop)
    assert [*selectors.for_agent(world.agent)] == [shop]
    AgentRepositories.objects.update(access="none")
    assert not selectors.for_agent(world.agent)
    AgentRepositories.objects.update(access="all")
    assert [*selectors.for_agent(world.agent)] == [docs, shop]
