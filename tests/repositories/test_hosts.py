"""The clients of GitHub and Gitea, against a server that speaks their APIs over real HTTP."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from paca.repositories import credentials
from paca.repositories.credentials import basic, header_for
from paca.repositories.hosts import errors, open_host
from paca.repositories.hosts.client import ApiClient
from paca.repositories.models import Repository
from tests.support.git_host_server import APP_TOKEN, TOKEN, GitHostServer
from tests.support.json_server import JsonServer
from tests.support.repositories import make_connection, make_repository
from tests.support.tls_proxy import TlsProxy
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture(params=["gitea", "github"])
def git(request: pytest.FixtureRequest) -> Iterator[GitHostServer]:
    with GitHostServer(request.param) as server:
        yield server


@pytest.fixture(autouse=True)
def no_remembered_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_tokens", {})


def linked(world: World, git: GitHostServer, **fields: Any) -> Repository:
    connection = make_connection(world.project, kind=git.kind, base_url=git.base_url, **fields)
    return make_repository(world.project, connection=connection)


def test_one_pull_request_is_opened_for_a_branch(world: World, git: GitHostServer) -> None:
    host = open_host(linked(world, git))
    assert host.default_branch() == "main"
    assert host.account() == "paca-bot"
    assert host.find_pull_request("fix-totals") is None
    opened = host.create_pull_request("fix-totals", "main", "Fix totals", "By a cent.")
    assert (opened.number, opened.state, opened.head, opened.base) == (
        1,
        "open",
        "fix-totals",
        "main",
    )
    assert host.find_pull_request("fix-totals") == opened
    again = host.create_pull_request("fix-totals", "main", "Fix totals", "By a cent.")
    assert again == opened
    assert len(git.pulls) == 1


def test_pull_request_behind_many_others_is_found(world: World, git: GitHostServer) -> None:
    for number in range(120):
        git.open_pull(f"other-{number}")
    git.open_pull("fix-totals")
    found = open_host(linked(world, git)).find_pull_request("fix-totals")
    assert found is not None
    assert found.number == 121


def test_pull_request_of_a_fork_with_the_same_branch_is_another(world: World) -> None:
    with GitHostServer("gitea") as git:
        git.open_pull(
            "fix-totals", head={"ref": "fix-totals", "label": "eve:fix-totals", "repo_id": 7}
        )
        assert open_host(linked(world, git)).find_pull_request("fix-totals") is None


def test_branch_that_was_not_pushed_opens_nothing_and_says_why(
    world: World, git: GitHostServer
) -> None:
    with pytest.raises(errors.GitServerFailed, match="Are both branches pushed"):
        open_host(linked(world, git)).create_pull_request("nowhere", "main", "Fix", "")


def test_wrong_token_is_told_without_it(world: World, git: GitHostServer) -> None:
    repository = linked(world, git, secret="another-token-0123456789")
    with pytest.raises(errors.GitServerRefused, match="does not accept") as refused:
        open_host(repository).default_branch()
    assert "another-token" not in str(refused.value)


def test_rights_of_an_account_are_those_that_the_server_tells(
    world: World, git: GitHostServer
) -> None:
    host = open_host(linked(world, git))
    assert host.may_write("ada")
    assert not host.may_write("eve")
    assert not host.may_write("../../../user")


def test_comments_on_lines_of_a_review_are_fetched_from_gitea(world: World) -> None:
    with GitHostServer("gitea") as git:
        git.reviews = [
            {"id": 4, "user": {"login": "ada"}, "comments_count": 1},
            {"id": 6, "user": {"login": "Ada"}, "comments_count": 1},
            {"id": 7, "user": {"login": "eve"}, "comments_count": 1},
        ]
        git.review_comments = {6: [{"path": "a.py", "position": 3, "body": "Round it."}]}
        (found,) = open_host(linked(world, git)).last_review_comments(1, "ada")
        assert (found.path, found.line, found.text) == ("a.py", 3, "Round it.")


# --- credentials ---------------------------------------------------------------------------------


def app_key() -> tuple[str, Any]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    return pem.decode(), key.public_key()


def test_github_app_gets_a_token_for_one_repository_and_at_most_an_hour(world: World) -> None:
    private, public = app_key()
    with GitHostServer("github", public_key=public, token_hours=30) as git:
        app = {"auth": "github_app", "app_id": "17", "installation_id": "99", "secret": private}
        repository = linked(world, git, **app)
        credential = header_for(repository)
        assert credential.header_value == basic("x-access-token", APP_TOKEN)
        assert credential.expires_at is not None
        assert credential.expires_at <= datetime.now(UTC) + timedelta(hours=1)
        assert APP_TOKEN not in repr(credential)
        assert header_for(repository) == credential
        assert len(git.asked) == 1, "a fresh token is used again"
        assert open_host(repository).default_branch() == "main"
        assert open_host(repository).account() == "paca[bot]"

        other = make_repository(world.project, "docs", connection=repository.connection)
        with pytest.raises(errors.GitServerRefused, match="Add the repository to the installation"):
            header_for(other)


@pytest.mark.parametrize(
    ("kind", "auth", "username", "expected"),
    [
        ("github", "token", "", basic("x-access-token", TOKEN)),
        ("gitea", "token", "", basic("git", TOKEN)),
        ("git", "basic", "ada", basic("ada", TOKEN)),
    ],
)
def test_header_is_what_each_server_takes(
    world: World, kind: str, auth: str, username: str, expected: str
) -> None:
    connection = make_connection(world.project, kind=kind, auth=auth, username=username)
    repository = make_repository(world.project, connection=connection)
    assert header_for(repository).header_value == expected
    assert header_for(make_repository(world.project, "public")).header_value == ""


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example.org/team/shop.git",
        "https://git.example.org:8443/team/shop.git",
        "http://git.example.org/team/shop.git",
        "https://git.example.org.evil.example/team/shop.git",
    ],
)
def test_credentials_go_to_the_server_of_their_connection_only(world: World, url: str) -> None:
    repository = make_repository(world.project, connection=make_connection(world.project), url=url)
    with pytest.raises(errors.GitServerRefused, match="gets no credentials"):
        header_for(repository)


def test_token_of_an_app_is_fetched_again_after_the_clock_was_set_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, public = app_key()
    with GitHostServer("github", public_key=public) as git:
        app = {"auth": "github_app", "app_id": "17", "installation_id": "99", "secret": private}
        repository = linked(world, git, **app)
        header_for(repository)
        monkeypatch.setattr(
            credentials.timezone, "now", lambda: datetime.now(UTC) - timedelta(hours=5)
        )
        header_for(repository)
        assert len(git.asked) == 2


# --- the client ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "words"),
    [
        ("https://169.254.169.254", "private network"),
        ("https://10.0.0.1", "private network"),
        ("https://[::ffff:10.0.0.1]", "private network"),
        ("https://[fe80::1]", "private network"),
        ("http://example.org", "write https"),
    ],
)
def test_client_connects_to_no_private_address_and_not_in_the_clear(base: str, words: str) -> None:
    with pytest.raises(errors.GitServerUnreachable, match=words):
        ApiClient(base, {}).get("/user")


def test_certificate_of_the_operator_counts_for_the_api(
    world: World, tmp_path: Path, settings: Any
) -> None:
    with (
        GitHostServer("gitea") as git,
        TlsProxy(tmp_path, int(git.base_url.rpartition(":")[2])) as proxy,
    ):
        settings.PRIVATE_GIT_SERVERS = [f"127.0.0.1:{proxy.port}"]
        client = ApiClient(
            f"https://127.0.0.1:{proxy.port}/api/v1", {"Authorization": f"token {TOKEN}"}
        )
        with pytest.raises(errors.GitServerUnreachable, match="certificate"):
            client.get("/user")
        settings.GIT_CA_FILE = str(tmp_path / "gone.pem")
        with pytest.raises(errors.GitServerUnreachable):
            client.get("/user")
        assert git.asked == []
        settings.GIT_CA_FILE = str(proxy.certificate)
        assert client.get("/user").status == 200


def test_a_listed_server_is_no_way_to_a_metadata_service(settings: Any) -> None:
    settings.PRIVATE_GIT_SERVERS = ["169.254.169.254:*"]
    with pytest.raises(errors.GitServerUnreachable, match="private network"):
        ApiClient("http://169.254.169.254", {}).get("/latest/meta-data")


@pytest.mark.parametrize(
    ("status", "value", "error"),
    [
        (302, {}, errors.GitServerFailed),
        (403, {"message": "API rate limit exceeded"}, errors.GitServerLimited),
        (403, {"message": "Resource not accessible"}, errors.GitServerRefused),
        (404, {}, errors.RepositoryMissing),
        (429, {}, errors.GitServerLimited),
        (500, {"message": "boom"}, errors.GitServerFailed),
        (200, "x" * (5 << 20), errors.GitServerFailed),
    ],
)
def test_client_says_what_the_server_answers(
    status: int, value: Any, error: type[Exception]
) -> None:
    with JsonServer(lambda _: (status, value)) as server, pytest.raises(error) as raised:
        ApiClient(server.base_url, {"Authorization": f"token {TOKEN}"}).get("/repos/team/shop")
    assert TOKEN not in str(raised.value)


@pytest.mark.parametrize(
    "value",
    [
        *([], "text", None, {"number": "1"}, {"number": 1, "html_url": "javascript:1"}),
        *({"number": number, "html_url": "https://g/1"} for number in (True, 0, -1, 10**30)),
        {"number": 1, "html_url": "https://g/" + "1" * 1000},
        {"number": 1, "html_url": "httpx:1"},
    ],
)
def test_answer_that_is_no_pull_request_is_refused(world: World, value: Any) -> None:
    with JsonServer(lambda _: (201, value)) as server:
        connection = make_connection(world.project, kind="gitea", base_url=server.base_url)
        host = open_host(make_repository(world.project, connection=connection))
        with pytest.raises(errors.GitServerFailed, match="no pull request"):
            host.create_pull_request("a", "main", "Fix", "")


@pytest.mark.parametrize("kind", ["gitea", "github"])
@pytest.mark.parametrize("odd", [["x"], "x", 7])
def test_answers_of_another_shape_are_read_as_nothing(world: World, kind: str, odd: Any) -> None:
    pull = {"number": 1, "html_url": "https://g/1", "head": odd, "base": odd, "title": "a\0"}
    review = {"user": {"login": "ada"}, "comments_count": 1, "id": odd, **pull}
    with JsonServer(lambda _: (201, pull)) as server:
        connection = make_connection(world.project, kind=kind, base_url=server.base_url)
        host = open_host(make_repository(world.project, connection=connection))
        made = host.create_pull_request("a", "main", "Fix", "")
        assert (made.number, made.head, made.base, made.title) == (1, "", "", "a\u2400")
    with JsonServer(lambda _: (200, [review])) as server:
        connection = make_connection(world.project, kind=kind, base_url=server.base_url, name="b")
        host = open_host(make_repository(world.project, connection=connection, name="two"))
        assert host.find_pull_request("a") is None
        assert all(each.path == "" for each in host.last_review_comments(1, "ada"))
