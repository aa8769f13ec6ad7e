"""The page of repositories, and what other pages show of them."""

import pytest
from django.test import Client

from paca.accounts.models import User
from paca.projects.services import members, workspaces
from paca.repositories.models import AgentRepositories, Repository
from paca.repositories.services import repositories
from tests.support.git_host_server import TOKEN
from tests.support.repositories import make_connection, make_repository
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def page(world: World, end: str = "repositories/") -> str:
    client = Client()
    client.force_login(world.user)
    answer = client.get(f"/projects/{world.project.pk}/{end}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_empty_page_says_what_to_do_and_has_the_form_for_it(world: World) -> None:
    shown = page(world)
    assert "No repository is linked yet" in shown
    assert f'data-api="POST /api/v1/projects/{world.project.pk}/repositories/"' in shown


def test_page_shows_state_and_problem_and_never_a_secret(world: World) -> None:
    repository = make_repository(world.project, connection=make_connection(world.project))
    secret = repositories.renew_webhook_secret(repository, by=world.owner)
    repositories.report(repository, problem="<b>It does not answer.</b>")
    shown = page(world)
    assert "&lt;b&gt;It does not answer." in shown
    assert "Does not work" in shown
    assert f"/webhooks/git/{repository.pk}/" in shown
    stored = Repository.objects.select_related("connection").get()
    assert stored.connection is not None
    for hidden in (TOKEN, secret, stored.connection.encrypted_secret):
        assert hidden not in shown


def test_reader_of_the_project_gets_no_forms(world: World) -> None:
    make_repository(world.project, connection=make_connection(world.project))
    reader = User.objects.create_user(username="bo", password="a long password 7")
    workspaces.add_person(world.project.workspace, user=reader)
    members.add_person(world.project, user=reader, role=world.role("Viewer"), by=world.owner)
    shown = page(World(reader, world.project, world.owner, world.agent))
    assert "https://git.example.org/team/shop.git" in shown
    assert "<form" not in shown.split('<div class="narrow')[1]


def test_settings_of_an_agent_say_which_repositories_it_may_use(world: World) -> None:
    address = f"agents/{world.agent.pk}/settings/"
    assert "Link a repository" in page(world, address)
    shop = make_repository(world.project)
    setting = AgentRepositories.objects.create(agent=world.agent, access="chosen")
    setting.chosen.add(shop)
    shown = page(world, address)
    assert f'value="{shop.pk}" checked' in shown
    assert '<option value="chosen" selected>' in shown
