"""Repositories and connections: the API and the services behind it."""

from typing import Any

import pytest
from django.db import connection as database
from django.test.utils import CaptureQueriesContext

from paca.accounts.models import AuditEntry
from paca.agents import encryption
from paca.agents import services as agents
from paca.common.errors import Invalid
from paca.conversations import known_secrets
from paca.conversations.models import Conversation, ConversationBranch
from paca.conversations.services import start_chat
from paca.projects.services import projects
from paca.repositories.credentials import basic
from paca.repositories.models import (
    AgentRepositories,
    GitConnection,
    Repository,
    RepositoryAccess,
)
from paca.repositories.services import connections, repositories
from tests.support.api import Api
from tests.support.git_host_server import TOKEN, GitHostServer
from tests.support.json_server import JsonServer
from tests.support.repositories import make_connection, make_repository
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
SERVER = {
    "name": "Gitea",
    "kind": "gitea",
    "base_url": "https://git.example.org",
    "auth": "token",
    "secret": TOKEN,
}
SHOP = "https://git.example.org/team/Shop.git"


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def path(world: World, *parts: Any) -> str:
    return f"/projects/{world.project.pk}/" + "".join(f"{part}/" for part in parts)


def fields_of(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 400, answer.content
    found: dict[str, Any] = answer.json()["fields"]
    return found


# --- connections ---------------------------------------------------------------------------------


def test_secret_of_a_connection_is_stored_encrypted_and_never_shown(world: World, api: Api) -> None:
    made = api.post(path(world, "git-connections"), SERVER)
    assert made.status_code == 201
    assert made.json()["secret"] == "***"
    seen = made.content + api.get(path(world, "git-connections")).content
    assert TOKEN.encode() not in seen
    stored = GitConnection.objects.get()
    assert TOKEN not in stored.encrypted_secret
    assert encryption.decrypt(stored.encrypted_secret) == TOKEN
    assert TOKEN not in str([*AuditEntry.objects.values()])
    assert AuditEntry.objects.filter(action="git_connection.created").count() == 1


def test_stars_sent_back_keep_the_stored_secret(world: World, api: Api) -> None:
    made = api.post(path(world, "git-connections"), SERVER).json()
    address = path(world, "git-connections", made["id"])
    assert api.patch(address, {**SERVER, "name": "Git", "secret": "***"}).json()["name"] == "Git"
    assert encryption.decrypt(GitConnection.objects.get().encrypted_secret) == TOKEN
    stale = api.patch(address, {"name": "Other"}, If_Match=made["updated_at"])
    assert (stale.status_code, stale.json()["present"]["name"]) == (412, "Git")


@pytest.mark.parametrize(
    "moved",
    [
        {"base_url": "https://evil.example"},
        {"base_url": "https://git.example.org:8443"},
        {"auth": "basic", "username": "ada"},
    ],
)
def test_secret_is_typed_again_for_another_server_or_way_to_sign_in(
    world: World, api: Api, moved: dict[str, Any]
) -> None:
    made = api.post(path(world, "git-connections"), SERVER).json()
    address = path(world, "git-connections", made["id"])
    for secret in ({}, {"secret": "***"}):
        assert "Type it again" in fields_of(api.patch(address, {**moved, **secret}))["secret"][0]
    assert api.patch(address, {**moved, "secret": TOKEN}).status_code == 200


def test_secret_stays_below_the_path_it_was_given_for(world: World, api: Api) -> None:
    server = {**SERVER, "base_url": "https://git.example.org/one"}
    address = path(
        world, "git-connections", api.post(path(world, "git-connections"), server).json()["id"]
    )
    for wider in (
        "https://git.example.org",
        "https://git.example.org/two",
        "https://git.example.org/one-two",
    ):
        assert "Type it again" in fields_of(api.patch(address, {"base_url": wider}))["secret"][0]
    assert (
        api.patch(address, {"base_url": "https://GIT.example.org:443/one/team/"}).status_code == 200
    )


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"base_url": "http://git.example.org"}, "base_url", "Write https://"),
        ({"base_url": "https://ada:pw@git.example.org"}, "base_url", "not in the address"),
        ({"base_url": "https://git.example.org?a=b"}, "base_url", "behind ? or #"),
        ({"base_url": "https://git.example.org:0"}, "base_url", "Write an address"),
        ({"base_url": "ssh://git.example.org"}, "base_url", "Write an address"),
        ({"base_url": "https://gït.example.org"}, "base_url", "Write an address"),
        ({"base_url": "https://git.example.org/\nX: y"}, "base_url", "Write an address"),
        ({"secret": ""}, "secret", "Write the token"),
        ({"secret": "***"}, "secret", "Write the token"),
        ({"secret": "short"}, "secret", "at least 8"),
        ({"secret": "line one\r\nAuthorization: x"}, "secret", "one line"),
        ({"secret": "tökens-are-plain"}, "secret", "plain characters"),
        ({"auth": "none"}, "secret", "has no secret"),
        ({"auth": "basic"}, "username", "name of the account"),
        ({"auth": "basic", "username": "a:b"}, "username", "without a colon"),
        ({"auth": "github_app"}, "auth", "Only GitHub"),
        (
            {"kind": "github", "auth": "github_app", "app_id": "17", "installation_id": "../9"},
            "installation_id",
            "number",
        ),
        (
            {"kind": "github", "auth": "github_app", "app_id": "17", "installation_id": "9"},
            "secret",
            "private key",
        ),
        ({"name": ""}, "name", "blank"),
    ],
)
def test_wrong_input_of_a_connection_is_refused_with_the_field(
    world: World, api: Api, changes: dict[str, Any], field: str, words: str
) -> None:
    found = fields_of(api.post(path(world, "git-connections"), {**SERVER, **changes}))
    assert words in str(found[field])
    assert not GitConnection.objects.exists()


def test_connection_that_is_used_is_not_deleted(world: World, api: Api) -> None:
    connection = make_connection(world.project)
    repository = make_repository(world.project, connection=connection)
    address = path(world, "git-connections", connection.pk)
    refused = api.delete(address)
    assert (refused.status_code, refused.json()["code"]) == (409, "git_connection_used")
    assert api.delete(path(world, "repositories", repository.pk)).status_code == 204
    assert api.delete(address).status_code == 204
    assert not GitConnection.objects.exists()


def test_connection_does_not_leave_its_repositories(world: World, api: Api) -> None:
    connection = make_connection(world.project)
    make_repository(world.project, connection=connection)
    moved = {"base_url": "https://other.example", "secret": TOKEN}
    found = fields_of(api.patch(path(world, "git-connections", connection.pk), moved))
    assert "not on this server" in found["base_url"][0]


def test_connection_becomes_one_with_an_api_only_if_that_can_know_its_repositories(
    world: World, api: Api
) -> None:
    connection = make_connection(world.project, kind="git")
    repository = make_repository(
        world.project, connection=connection, url="https://git.example.org/a/team/shop.git"
    )
    address = path(world, "git-connections", connection.pk)
    found = fields_of(api.patch(address, {"kind": "gitea"}))
    assert found["kind"] == [
        "shop: Gitea or Forgejo needs addresses such as https://git.example.org/owner/name."
        " Change or unlink it first."
    ]
    connection.refresh_from_db()
    assert connection.kind == "git"
    narrower = {"kind": "gitea", "base_url": "https://git.example.org/a", "secret": TOKEN}
    assert api.patch(address, narrower).status_code == 200
    # Without /a, the API would look for another repository.
    found = fields_of(api.patch(address, {"base_url": "https://git.example.org", "secret": TOKEN}))
    assert "shop: Gitea" in found["kind"][0]
    repository.delete()
    assert api.patch(address, {"kind": "github"}).status_code == 200


# --- repositories --------------------------------------------------------------------------------


def test_repository_is_linked_by_its_address(world: World, api: Api) -> None:
    connection = make_connection(world.project)
    given = {"url": SHOP + "/", "connection_id": str(connection.pk)}
    made = api.post(path(world, "repositories"), given).json()
    assert (made["name"], made["url"]) == ("shop", SHOP)
    assert (made["allow_default_branch"], made["clone_at_start"]) == (False, False)
    assert made["contact"] == {"state": "unknown", "problem": "", "at": None}
    address = path(world, "repositories", made["id"])
    changed = api.patch(address, {"clone_at_start": True, "reviewers": ["ada"]})
    assert changed.json()["reviewers"] == ["ada"]
    assert api.get(address).json()["clone_at_start"] is True
    assert api.get(path(world, "repositories")).json()["results"][0]["id"] == made["id"]
    assert {*AuditEntry.objects.values_list("action", flat=True)} >= {
        "repository.linked",
        "repository.changed",
    }
    again = fields_of(api.post(path(world, "repositories"), given))
    assert "of this name" in str(again)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"url": "http://git.example.org/team/shop"}, "url", "Write https://"),
        ({"url": "https://ada:pw@git.example.org/team/shop"}, "url", "not in the address"),
        ({"url": "https://git.example.org/team/../shop"}, "url", "one repository"),
        ({"url": "https://git.example.org/team//shop"}, "url", "one repository"),
        ({"url": "https://git.example.org/team/%2e%2e/shop"}, "url", "one repository"),
        ({"url": "https://git.example.org/shop"}, "url", "owner/name"),
        ({"url": "https://git.example.org"}, "url", "one repository"),
        ({"url": "git@git.example.org:team/shop.git"}, "url", "Write an address"),
        ({"url": "ext::sh -c id"}, "url", "Write an address"),
        ({"url": "--upload-pack=id"}, "url", "Write an address"),
        ({"url": "file:///etc/passwd"}, "url", "Write an address"),
        ({"url": "https://other.example/team/shop"}, "connection", "credentials are for"),
        ({"name": "Shop"}, "name", "small letters"),
        ({"name": "../shop"}, "name", "small letters"),
        ({"default_branch": "-f"}, "default_branch", "no name of a branch"),
        ({"default_branch": "a..b"}, "default_branch", "no name of a branch"),
        ({"default_branch": "refs/heads/main"}, "default_branch", "no name of a branch"),
        ({"reviewers": ["@ada"]}, "reviewers", "without @"),
        ({"reviewers": ["a b"]}, "reviewers", "names of accounts"),
    ],
)
def test_wrong_input_of_a_repository_is_refused_with_the_field(
    world: World, api: Api, changes: dict[str, Any], field: str, words: str
) -> None:
    connection = make_connection(world.project)
    given = {"url": SHOP, "connection_id": str(connection.pk), **changes}
    assert words in str(fields_of(api.post(path(world, "repositories"), given))[field])
    assert not Repository.objects.exists()


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://a.example/t/Shop.git", "shop"),
        ("https://a.example/t/My_App--x/", "my_app-x"),
        ("https://a.example/t/.dotfiles", "dotfiles"),
        ("https://a.example/t/" + "x" * 90, "x" * 60),
    ],
)
def test_name_of_a_repository_comes_from_its_address(address: str, name: str) -> None:
    assert repositories.name_of(address) == name


def test_another_address_is_another_repository(world: World, api: Api) -> None:
    repository = make_repository(world.project, connection=make_connection(world.project))
    started = start_chat(world.agent, text="Hello", by=world.owner)
    conversation = Conversation.objects.get(pk=started.conversation_id)
    ConversationBranch.objects.create(
        conversation=conversation, repository=repository, branch="fix"
    )
    address = path(world, "repositories", repository.pk)
    secret = api.post(f"{address}webhook-secret/").json()["secret"]
    assert len(secret) > 30
    assert api.get(address).json()["has_webhook_secret"] is True
    assert secret not in api.get(address).content.decode()
    assert api.patch(address, {"url": "https://git.example.org/team/docs.git"}).status_code == 200
    assert api.get(address).json()["has_webhook_secret"] is False
    assert not ConversationBranch.objects.exists()


@pytest.mark.parametrize("kind", ["gitea", "github"])
def test_test_of_a_repository_stores_how_it_was_found(world: World, api: Api, kind: str) -> None:
    with GitHostServer(kind) as git:
        connection = make_connection(world.project, kind=kind, base_url=git.base_url)
        repository = make_repository(world.project, connection=connection, default_branch="")
        address = path(world, "repositories", repository.pk)
        found = api.post(f"{address}test/").json()
        assert (found["works"], found["default_branch"]) == (True, "main")
        assert found["repository"]["contact"]["state"] == "works"
        assert found["repository"]["default_branch"] == "main"
        connection.refresh_from_db()
        assert connection.account == "paca-bot"

        GitConnection.objects.update(encrypted_secret=encryption.encrypt("wrong-token-0123"))
        refused = api.post(f"{address}test/").json()
    assert (refused["works"], refused["code"]) == (False, "git_server_refused")
    assert refused["repository"]["contact"]["problem"] == refused["detail"]
    assert "wrong-token" not in str(refused)
    gone = api.post(f"{address}test/").json()
    assert (gone["works"], gone["code"]) == (False, "git_server_unreachable")


def test_repositories_of_an_agent_are_chosen(world: World, api: Api) -> None:
    shop = make_repository(world.project, "shop")
    address = path(world, "agents", world.agent.pk, "repositories")
    assert api.get(address).json() == {"access": "all", "chosen": []}
    given = {"access": "chosen", "chosen": [str(shop.pk)]}
    assert api.ask("put", address, given).json() == given
    assert api.get(address).json() == given
    foreign = make_repository(make_world("Other").project)
    given["chosen"] = [str(foreign.pk)]
    assert api.ask("put", address, given).status_code == 404
    assert AuditEntry.objects.filter(action="agent.repositories_changed").count() == 1


def test_service_refuses_rows_of_another_project(world: World) -> None:
    other = make_world("Other")
    foreign = make_repository(other.project, connection=make_connection(other.project))
    with pytest.raises(Invalid):
        repositories.set_access(
            world.agent, access=RepositoryAccess.CHOSEN, chosen=[foreign], by=world.owner
        )
    with pytest.raises(Invalid):
        repositories.link(
            world.project, url=foreign.url, connection=foreign.connection, by=world.owner
        )


@pytest.mark.parametrize("is_git", [True, False])
def test_server_without_an_api_is_asked_as_git_does(world: World, api: Api, is_git: bool) -> None:
    media = "application/x-git-upload-pack-advertisement" if is_git else "text/html"
    with JsonServer(lambda _: (200, {}), media_type=media) as git:
        connection = make_connection(world.project, kind="git", base_url=git.base_url)
        repository = make_repository(world.project, connection=connection)
        found = api.post(path(world, "repositories", repository.pk, "test")).json()
        assert found["works"] is is_git
        assert git.asked[0].path == "/team/shop.git/info/refs?service=git-upload-pack"
        assert git.asked[0].headers["authorization"] == basic("git", TOKEN)


# --- secrets and ends ----------------------------------------------------------------------------


def test_secrets_of_repositories_are_removed_from_texts(world: World, api: Api) -> None:
    make_connection(world.project)
    repository = make_repository(world.project)
    address = path(world, "repositories", repository.pk)
    webhook_secret = api.post(f"{address}webhook-secret/").json()["secret"]
    assert {TOKEN, webhook_secret} <= known_secrets.of_agent(world.agent.pk)
    assert TOKEN not in known_secrets.of_agent(make_world("Other").agent.pk)


def test_deleted_project_keeps_no_repository_and_no_secret(world: World) -> None:
    make_repository(world.project, connection=make_connection(world.project))
    projects.delete(world.project, by=world.owner)
    assert not Repository.objects.exists()
    assert not GitConnection.objects.exists()


def test_retired_agent_keeps_no_setting(world: World) -> None:
    AgentRepositories.objects.create(agent=world.agent, access="none")
    agents.retire(world.agent, by=world.owner)
    assert not AgentRepositories.objects.exists()


@pytest.mark.parametrize("noun", ["repositories", "git-connections"])
def test_list_takes_as_many_queries_for_30_rows_as_for_3(world: World, api: Api, noun: str) -> None:
    def grow(first: int, last: int) -> None:
        for number in range(first, last):
            connection = make_connection(world.project, name=f"c{number}")
            make_repository(world.project, f"r{number}", connection=connection)

    def count(rows: int) -> int:
        with CaptureQueriesContext(database) as queries:
            assert len(api.get(path(world, noun) + "?page_size=100").json()["results"]) == rows
        return len(queries)

    grow(0, 3)
    few = count(3)
    grow(3, 30)
    assert count(30) == few


def test_number_of_repositories_and_connections_is_limited(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repositories, "MAX_REPOSITORIES", 1)
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 1)
    make_repository(world.project, "docs", connection=make_connection(world.project))
    assert api.post(path(world, "repositories"), {"url": SHOP}).json()["code"] == (
        "too_many_repositories"
    )
    assert api.post(path(world, "git-connections"), SERVER).json()["code"] == (
        "too_many_git_connections"
    )
