"""Sign-ins to MCP servers by OAuth, against a real server over real HTTP, and the attacks on them."""

from __future__ import annotations

import asyncio
import base64
import threading
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.core.cache import cache
from django.utils import timezone

from paca.accounts.models import AuditEntry, User
from paca.agents import mcp_sign_in, mcp_tokens
from paca.agents.models import McpGrant, McpServer, McpSignIn
from paca.agents.services import mcp_grants, mcp_servers
from paca.engine.mcp.oauth.discovery import _challenge
from paca.engine.mcp.oauth.requests import Answer
from paca.engine.mcp.settings import SignInNeeded
from paca.projects.services import members, projects
from tests.agents.mcp.test_mcp_servers import LINEAR, path
from tests.support.api import Api
from tests.support.oauth_server import OAuthServer
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def oauth() -> Iterator[OAuthServer]:
    cache.clear()
    with OAuthServer() as server:
        yield server
    cache.clear()


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


@pytest.fixture
def server(world: World, oauth: OAuthServer) -> McpServer:
    projects.change(world.project, by=world.owner, private_mcp_servers=True)
    settings = {"transport": "http", "url": oauth.url, "auth": "oauth", "private_addresses": True}
    return mcp_servers.create(world.agent, name="issues", by=world.owner, **settings)


def begin(api: Api, world: World, server: McpServer) -> str:
    """Begin a sign-in; gives the address for the browser."""
    answer = api.post(path(world, server.pk, "sign-in"))
    assert answer.status_code == 200, answer.content
    return str(answer.json()["authorization_url"])


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def agree(url: str) -> str:
    """Open the address as the browser does, and agree; gives the address at Paca that it leads to."""
    with pytest.raises(HTTPError) as led:
        urllib.request.build_opener(_NoRedirect).open(url, timeout=10)
    assert led.value.code == 302
    back = urlsplit(led.value.headers["Location"])
    led.value.close()
    return f"{back.path}?{back.query}"


def with_query(address: str, **changes: str | None) -> str:
    """The address with other parameters; None leaves one out."""
    parts = urlsplit(address)
    query = {**dict(parse_qsl(parts.query)), **changes}
    kept = {name: value for name, value in query.items() if value is not None}
    return f"{parts.path}?{urlencode(kept)}"


def sign_in(api: Api, world: World, server: McpServer) -> McpGrant:
    answer = api.send("get", agree(begin(api, world, server)))
    assert (answer.status_code, answer["Location"].endswith("#mcp-servers")) == (302, True)
    return McpGrant.objects.get(server=server)


async def token_of(server: McpServer, refused: str = "") -> str:
    return await mcp_tokens.get(
        server.agent_id, server.pk, url=server.url, refused=refused, run=sync_to_async
    )


token = async_to_sync(token_of)


def access(server: McpServer) -> str | mcp_grants.Renewal | None:
    return mcp_grants.access_token(server.agent_id, server.pk, url=server.url)


def test_person_signs_in_and_the_tools_are_listed_with_the_token(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    early = api.post(path(world, server.pk, "test")).json()
    assert (early["works"], early["server"]["health"]["state"]) == (False, "sign_in_needed")
    url = begin(api, world, server)
    asked = dict(parse_qsl(urlsplit(url).query))
    assert (asked["code_challenge_method"], asked["resource"]) == ("S256", oauth.url)
    assert (asked["client_id"], asked["scope"]) == ("client-1", "read offline_access")
    assert oauth.registered[0]["redirect_uris"] == ["http://testserver/mcp/sign-in/"]
    assert asked["state"] not in str(McpSignIn.objects.values())
    api.send("get", agree(url))
    shown = api.get(path(world, server.pk))
    assert shown.json()["sign_in"] == "signed_in"
    tested = api.post(path(world, server.pk, "test")).json()
    assert (tested["works"], [t["name"] for t in tested["server"]["tools"]]) == (True, ["issues"])
    stored = str(McpGrant.objects.values()) + shown.content.decode() + str(tested)
    assert "access-0" not in stored
    assert "refresh-0" not in stored
    entry = AuditEntry.objects.get(action="mcp_server.signed_in")
    assert (entry.actor_name, entry.facts["issuer"]) == (world.user.actor.name, oauth.origin)
    assert api.delete(path(world, server.pk, "sign-in")).status_code == 204
    assert not McpGrant.objects.exists()


def test_test_says_which_tools_cannot_be_used(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    sign_in(api, world, server)
    oauth.description = "x" * 5_000
    tested = api.post(path(world, server.pk, "test")).json()
    said = "Tools left out: issues: its description is longer than 4,000 characters."
    assert tested["detail"] == f"Works: it offers 0 tools. {said}"
    assert tested["server"]["health"]["error"] == said


def test_test_that_finds_no_place_says_nothing_of_the_server(
    world: World, api: Api, server: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_sign_in, "QUEUE_TIMEOUT_SECONDS", 0)
    with mcp_sign_in.slot(), mcp_sign_in.slot():
        answer = api.post(path(world, server.pk, "test"))
    assert (answer.status_code, answer.json()["code"]) == (409, "mcp_busy")
    assert api.get(path(world, server.pk)).json()["health"]["state"] == "unknown"


def refused(api: Api, address: str) -> bool:
    """Whether Paca refuses the way back, and has asked the service for no token."""
    answer = api.send("get", address)
    return answer.status_code == 409 and not McpGrant.objects.exists()


def test_state_of_another_session_or_person_or_none_ends_nothing(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    back = agree(begin(api, world, server))
    mallory = User.objects.create_user("mallory", password="a long password 7")
    assert refused(Api(mallory), back)
    assert refused(Api(world.user), back)  # the same person in another browser
    for state in ("", None, "x", "a" * 43):
        assert refused(api, with_query(back, state=state))
    assert oauth.token_forms == []
    assert api.send("get", back).status_code == 302  # the right one still works


def test_way_back_works_once_and_for_ten_minutes(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    back = agree(begin(api, world, server))
    assert api.send("get", back).status_code == 302
    assert len(oauth.token_forms) == 1
    assert api.send("get", back).status_code == 409
    assert len(oauth.token_forms) == 1
    McpGrant.objects.all().delete()
    late = agree(begin(api, world, server))
    McpSignIn.objects.update(created_at=timezone.now() - timedelta(minutes=10))
    assert refused(api, late)


@pytest.mark.parametrize("iss", ["https://evil.example", None])
def test_answer_of_another_service_is_not_taken_for_that_of_the_asked_one(
    world: World, api: Api, server: McpServer, oauth: OAuthServer, iss: str | None
) -> None:
    back = with_query(agree(begin(api, world, server)), iss=iss)
    answer = api.send("get", back)
    assert answer.status_code == 302
    page = api.send("get", answer["Location"].partition("#")[0]).content.decode()
    assert "Another sign-in service answered" in page
    assert (oauth.token_forms, McpGrant.objects.count()) == ([], 0)


def test_code_of_another_sign_in_is_refused_by_pkce(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    first = agree(begin(api, world, server))
    second = agree(begin(api, world, server))
    stolen = dict(parse_qsl(urlsplit(first).query))["code"]
    api.send("get", with_query(second, code=stolen))
    assert (len(oauth.token_forms), McpGrant.objects.count()) == (1, 0)


def test_person_who_says_no_is_told_so(world: World, api: Api, server: McpServer) -> None:
    back = with_query(agree(begin(api, world, server)), code=None, error="access_denied")
    page = api.send("get", api.send("get", back)["Location"].partition("#")[0])
    assert "did not allow it: access_denied" in page.content.decode()


def test_member_without_the_permission_any_more_ends_no_sign_in(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    back = agree(begin(api, world, server))
    person = User.objects.create_user("bea", password="a long password 7")
    members.add_person(world.project, user=person, role=world.role("owner"), by=world.owner)
    members.change_role(world.owner, role=world.role("viewer"), by=None)
    api.send("get", back)
    assert (oauth.token_forms, McpGrant.objects.count()) == ([], 0)


def test_token_of_the_api_begins_no_sign_in(world: World, server: McpServer) -> None:
    answer = Api.by_token(world.user).post(path(world, server.pk, "sign-in"))
    assert (answer.status_code, answer.json()["code"]) == (403, "browser_needed")


def test_tokens_are_stored_for_no_other_address_than_they_were_asked_for(
    world: World, api: Api, server: McpServer
) -> None:
    back = agree(begin(api, world, server))
    query = dict(parse_qsl(urlsplit(back).query))
    taken = mcp_grants.take_sign_in(
        state=query["state"], user=world.user, session_key=api.client.session.session_key
    )
    mcp_servers.change(server, by=world.owner, url="https://evil.example/mcp")
    with pytest.raises(mcp_grants.McpServerChanged):
        mcp_grants.store_grant(
            taken[0], taken[1], mcp_grants.Tokens("a-token"), url=taken[2], by=world.user
        )


def test_server_that_moves_loses_its_tokens_and_begun_sign_ins(
    world: World, api: Api, server: McpServer
) -> None:
    sign_in(api, world, server)
    back = agree(begin(api, world, server))
    server.refresh_from_db()
    mcp_servers.change(server, by=world.owner, url="https://evil.example/mcp")
    assert not McpGrant.objects.exists()
    assert refused(api, back)


def test_run_that_knows_a_former_address_gets_no_token_for_the_present_one(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    """A server may answer 401 to a run that still knows it, when its people have moved on to another."""
    former = "https://evil.example/mcp"
    mcp_servers.change(server, by=world.owner, url=former)
    mcp_servers.change(server, by=world.owner, url=oauth.url)
    sign_in(api, world, server)
    assert token(server)
    with pytest.raises(SignInNeeded, match="another address now"):
        mcp_grants.access_token(server.agent_id, server.pk, url=former, refused="an-old-token")


def test_secret_of_a_client_goes_to_no_other_service_than_the_one_that_people_know(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    mcp_servers.change(
        server, by=world.owner, oauth_client_id="by-hand", oauth_client_secret="s3cret-by-hand"
    )
    sign_in(api, world, server)
    McpGrant.objects.update(issuer="https://honest.example", lost_reason="It has ended.")
    answer = api.post(path(world, server.pk, "sign-in"))
    assert (answer.status_code, answer.json()["code"]) == (409, "mcp_sign_in_failed")
    assert f"{oauth.origin} in place of https://honest.example" in answer.json()["detail"]
    api.delete(path(world, server.pk, "sign-in"))
    assert sign_in(api, world, server).issuer == oauth.origin


def test_refusal_of_a_server_is_read_in_time_however_long_it_is() -> None:
    """A pattern that went back for each of its letters took minutes, in which the web process did nothing else."""
    refusal = Answer(401, {"www-authenticate": "x" * 100_000 + ' scope="read", a=b'}, {})
    assert _challenge(refusal) == {"scope": "read", "a": "b"}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"issuer": "https://honest.example"}, "names another issuer"),
        ({"token_endpoint": "http://169.254.169.254/token"}, ""),
        ({"registration_endpoint": "http://169.254.169.254/"}, "private network"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no address"),
        ({"authorization_endpoint": "file:///etc/passwd"}, "no address"),
        ({"token_endpoint": None}, "names no token_endpoint"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        ({"code_challenge_methods_supported": None}, "PKCE"),
        ({"registration_endpoint": None}, "registers no clients by itself"),
    ],
)
def test_sign_in_service_with_bad_metadata_is_refused(
    world: World, api: Api, server: McpServer, oauth: OAuthServer, facts: Any, said: str
) -> None:
    oauth.metadata = facts
    answer = api.post(path(world, server.pk, "sign-in"))
    if not said:  # it is asked at the end only, and refused there
        api.send("get", agree(answer.json()["authorization_url"]))
        assert oauth.token_forms == []
        assert not McpGrant.objects.exists()
        return
    assert (answer.status_code, answer.json()["code"]) == (409, "mcp_sign_in_failed")
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("where", ["/mcp", "/.well-known/oauth-authorization-server", "/register"])
def test_redirects_are_not_followed(
    world: World, api: Api, server: McpServer, oauth: OAuthServer, where: str
) -> None:
    oauth.overrides[where] = (302, {"Location": f"{oauth.origin}/inside"}, {})
    answer = api.post(path(world, server.pk, "sign-in"))
    assert "redirect, which is not followed" in answer.json()["detail"]
    assert not any("/inside" in each for each in oauth.asked)


def test_slow_sign_in_service_is_given_up(
    world: World,
    api: Api,
    server: McpServer,
    oauth: OAuthServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    back = agree(begin(api, world, server))
    oauth.gate = threading.Event()
    monkeypatch.setattr(mcp_sign_in, "TOTAL_SECONDS", 0.2)
    api.send("get", back)
    oauth.gate.set()
    assert not McpGrant.objects.exists()


def test_private_network_is_closed_to_a_server_that_may_not_be_there(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    projects.change(world.project, by=world.owner, private_mcp_servers=False)
    answer = api.post(path(world, server.pk, "sign-in"))
    assert answer.json()["code"] == "mcp_sign_in_failed"
    assert oauth.asked == []


def test_sign_in_of_a_server_without_oauth_is_refused(world: World, api: Api) -> None:
    plain = mcp_servers.create(world.agent, by=world.owner, **LINEAR)
    answer = api.post(path(world, plain.pk, "sign-in"))
    assert list(answer.json()["fields"]) == ["auth"]


# --- refresh -------------------------------------------------------------------------------------------


def end_token(grant: McpGrant) -> None:
    McpGrant.objects.filter(pk=grant.pk).update(expires_at=timezone.now())


def refreshes(oauth: OAuthServer) -> int:
    return sum(form["grant_type"] == "refresh_token" for form in oauth.token_forms)


def test_token_is_refreshed_at_its_end_and_when_the_server_refuses_it(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    grant = sign_in(api, world, server)
    first = token(server)
    assert (token(server), refreshes(oauth)) == (first, 0)
    end_token(grant)
    second = token(server)
    assert (second != first, refreshes(oauth)) == (True, 1)
    third = token(server, refused=second)
    assert (third not in (first, second), refreshes(oauth)) == (True, 2)
    assert token(server, refused=first) == third  # a late word on an old token
    oauth.refuse_tokens()
    assert api.post(path(world, server.pk, "test")).json()["works"] is True
    assert refreshes(oauth) == 3


def test_of_callers_at_the_same_time_one_refreshes_and_all_get_its_token(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    end_token(sign_in(api, world, server))

    async def all_at_once() -> list[str]:
        return await asyncio.gather(*(token_of(server) for _ in range(5)))

    found = async_to_sync(all_at_once)()
    assert (len(set(found)), refreshes(oauth)) == (1, 1)


def test_refresh_goes_on_when_its_caller_is_stopped(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    end_token(sign_in(api, world, server))
    oauth.gate = threading.Event()

    async def stop_in_between() -> str:
        before = len(oauth.asked)
        caller = asyncio.create_task(token_of(server))
        while len(oauth.asked) == before:  # noqa: ASYNC110 - it is asked in another thread
            await asyncio.sleep(0.01)
        caller.cancel()
        await asyncio.wait({caller})
        assert caller.cancelled()
        assert oauth.gate is not None
        oauth.gate.set()
        return await token_of(server)

    found = async_to_sync(stop_in_between)()
    assert (token(server), refreshes(oauth)) == (found, 1)


def test_refresh_of_a_dead_process_is_tried_again_when_its_lease_ends(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    end_token(sign_in(api, world, server))
    dead = access(server)
    assert isinstance(dead, mcp_grants.Renewal)
    assert access(server) is None
    McpGrant.objects.update(renewal_until=timezone.now())
    alive = token(server)
    # It was not dead but slow: what it got meanwhile is not stored.
    assert mcp_grants.renewed(dead, mcp_grants.Tokens("late-token", "late-refresh")) is False
    assert token(server) == alive


def test_refresh_token_that_was_used_by_a_dead_process_asks_for_a_new_sign_in(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    end_token(sign_in(api, world, server))
    dead = access(server)
    assert isinstance(dead, mcp_grants.Renewal)
    oauth.answer("POST", "/token", {}, urlencode({"grant_type": "refresh_token", "refresh_token": dead.refresh_token}))  # fmt: skip
    McpGrant.objects.update(renewal_until=timezone.now())  # it died before it stored the answer
    for _ in range(2):
        with pytest.raises(SignInNeeded):
            token(server)
    assert refreshes(oauth) == 2
    shown = api.get(path(world, server.pk)).json()
    assert (shown["sign_in"], shown["health"]["state"]) == ("lost", "sign_in_needed")
    assert "Sign in to it again" in shown["health"]["error"]
    assert sign_in(api, world, server).lost_reason == ""
    assert token(server)


def test_service_that_is_down_costs_no_sign_in(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    end_token(sign_in(api, world, server))
    oauth.overrides["/token"] = (503, {}, {"error": "temporarily_unavailable"})
    assert api.post(path(world, server.pk, "test")).json()["code"] == "mcp_sign_in_failed"
    oauth.overrides.clear()
    assert token(server)


def test_client_that_was_registered_by_hand_shows_its_secret_in_the_header(
    world: World, api: Api, server: McpServer, oauth: OAuthServer
) -> None:
    oauth.metadata = {"registration_endpoint": None}
    mcp_servers.change(
        server, by=world.owner, oauth_client_id="by-hand", oauth_client_secret="s3cret-by-hand"
    )
    url = begin(api, world, server)
    assert dict(parse_qsl(urlsplit(url).query))["client_id"] == "by-hand"
    api.send("get", agree(url))
    [form] = oauth.token_forms
    assert base64.b64decode(form["basic"]) == b"by-hand:s3cret-by-hand"
    assert "client_secret" not in form
    assert token(server)
