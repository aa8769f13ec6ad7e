"""The discovery of sign-in services and the forms of their answers, without a network."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from paca.engine.mcp.oauth import flow
from paca.engine.mcp.oauth.client import open_web
from paca.engine.mcp.oauth.discovery import find_service
from paca.engine.mcp.oauth.requests import SignInFailed, Web, check_address

pytestmark = pytest.mark.anyio
SERVER = "https://mcp.example/v1/mcp"
RESOURCE = "/.well-known/oauth-protected-resource"
SERVICE = "/.well-known/oauth-authorization-server"
FACTS = {
    "issuer": "https://auth.example/tenant",
    "authorization_endpoint": "https://auth.example/authorize?tenant=1",
    "token_endpoint": "https://auth.example/token",
    "registration_endpoint": "https://auth.example/register",
    "code_challenge_methods_supported": ["plain", "S256"],
}
NAMED = {"resource": SERVER, "authorization_servers": [FACTS["issuer"]], "scopes_supported": ["a"]}


def web(pages: dict[str, Any], asked: list[str] | None = None, **facts: Any) -> Web:
    """A client of a network with these pages: the JSON, or a whole answer, by address."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        url = str(request.url)
        if asked is not None:
            asked.append(url)
        page = pages.get(url, httpx2.Response(404))
        if isinstance(page, httpx2.Response):
            return page
        return httpx2.Response(200, content=json.dumps(page).encode())

    return Web(httpx2.AsyncClient(transport=httpx2.MockTransport(answer)), **facts)


def pages(
    change: Callable[[dict[str, Any], dict[str, Any]], Any] = lambda *_: None,
) -> dict[str, Any]:
    resource, service = json.loads(json.dumps([NAMED, FACTS]))
    change(resource, service)
    return {
        f"https://mcp.example{RESOURCE}/v1/mcp": resource,
        f"https://auth.example{SERVICE}/tenant": service,
    }


async def test_service_is_found_by_the_resource_that_the_refusal_names() -> None:
    elsewhere = "https://mcp.example/metadata"
    challenge = f'Bearer realm="x", resource_metadata="{elsewhere}", scope="read write"'
    refusal = httpx2.Response(401, headers={"WWW-Authenticate": challenge})
    found = await find_service(web({**pages(), elsewhere: NAMED, SERVER: refusal}), SERVER)
    assert (found.scope, found.issuer) == ("read write", FACTS["issuer"])


@pytest.mark.parametrize(
    "where",
    [
        "https://auth.example/.well-known/oauth-authorization-server/tenant",
        "https://auth.example/.well-known/openid-configuration/tenant",
        "https://auth.example/tenant/.well-known/openid-configuration",
    ],
)
async def test_metadata_of_the_service_are_found_where_the_standards_say(where: str) -> None:
    at = {f"https://mcp.example{RESOURCE}": NAMED, where: FACTS}
    found = await find_service(web(at), SERVER)
    assert (found.token_endpoint, found.scope) == (FACTS["token_endpoint"], "a")


async def test_server_of_the_first_revision_is_its_own_service() -> None:
    own = {**FACTS, "issuer": "https://mcp.example"}
    found = await find_service(web({f"https://mcp.example{SERVICE}": own}), SERVER)
    assert (found.issuer, found.resource) == ("https://mcp.example", SERVER)


async def test_address_for_the_browser_keeps_the_query_of_the_service() -> None:
    at = {**pages(), "https://auth.example/register": httpx2.Response(201, json={"client_id": "c"})}
    begun, url = await flow.begin(
        web(at), SERVER, redirect_uri="https://paca.example/mcp/sign-in/", state="s"
    )
    assert url.startswith("https://auth.example/authorize?tenant=1&response_type=code&client_id=c&")
    assert begun.verifier not in url
    assert "verifier" not in repr(begun)


METADATA = "http://169.254.169.254/latest"


def endpoint(name: str, address: Any) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    return lambda _, service: service.update({name: address})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r, _: r.update(resource="https://other.example/v1/mcp"), "another server"),
        (lambda r, _: r.update(resource="https://mcp.example/v1/mcp/deeper"), "another server"),
        (lambda r, _: r.update(resource="https://mcp.example:444/v1/mcp"), "another server"),
        (lambda r, _: r.pop("resource"), "name no resource"),
        (lambda r, _: r.update(authorization_servers=[METADATA]), "not an https address"),
        (lambda r, _: r.update(authorization_servers=["https://10.0.0.7"]), "private network"),
        (endpoint("token_endpoint", "https://127.0.0.1/token"), "private network"),
        (endpoint("token_endpoint", "https://[::ffff:10.0.0.1]/"), "private network"),
        (endpoint("token_endpoint", "https://localhost/token"), "private network"),
        (endpoint("token_endpoint", "http://auth.example/token"), "not an https address"),
        (endpoint("token_endpoint", "https://me:pw@auth.example/"), "a name, a password"),
        (endpoint("token_endpoint", 7), "names no token_endpoint"),
        (endpoint("registration_endpoint", "https://metadata.google.internal/"), "private network"),
        (endpoint("authorization_endpoint", "javascript:alert(1)//x"), "no address"),
        (endpoint("authorization_endpoint", "https://evil.example\\@auth.example/"), "no address"),
        (endpoint("authorization_endpoint", "https://auth.example/\r\nX: y"), "no address"),
        (endpoint("authorization_endpoint", "https://192.168.1.1/admin"), "private network"),
        (lambda r, _: r.update(authorization_servers=["https://[bad"]), "is no address"),
        (lambda r, _: r.update(resource="https://[bad"), "is no address"),
        (lambda r, _: r.update(resource=f"{SERVER}?\0"), "no address"),
        (
            lambda r, _: r.update(authorization_servers=["https://auth.example/x?\ud800"]),
            "no address",
        ),
        (lambda r, _: r.update(scopes_supported=["\ud800"]), "scopes that are none"),
        (endpoint("token_endpoint", "https://[bad"), "no address"),
        (endpoint("issuer", "https://honest.example"), "another issuer"),
        (endpoint("issuer", None), "another issuer"),
        (endpoint("code_challenge_methods_supported", "S256"), "PKCE"),
    ],
)
async def test_metadata_that_do_not_fit_are_refused(change: Any, said: str) -> None:
    asked: list[str] = []
    with pytest.raises(SignInFailed, match=said):
        await find_service(web(pages(change), asked), SERVER)
    assert all(
        url.startswith(("https://mcp.example", "https://auth.example/.well")) for url in asked
    )


@pytest.mark.parametrize(
    "client",
    [{"client_id": "\ud800"}, {"client_id": "a\0"}, {"client_id": "a", "client_secret": "\ud800"}],
)
async def test_client_that_cannot_be_stored_or_sent_is_refused(client: dict[str, Any]) -> None:
    at = web({**pages(), FACTS["registration_endpoint"]: client})
    with pytest.raises(SignInFailed, match="gave a client that Paca cannot use"):
        await flow.begin(at, SERVER, redirect_uri="https://paca.example/", state="s")


async def test_answer_without_end_is_refused() -> None:
    endless = httpx2.Response(200, content=b"{" + b" " * 300_000)
    with pytest.raises(SignInFailed, match="more than 256 KiB"):
        await web({SERVER: endless}).get(SERVER)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "without an access token"),
        ({"access_token": ""}, "without an access token"),
        ({"access_token": ["a"]}, "without an access token"),
        ({"access_token": "a\r\nX: y"}, "without an access token"),
        ({"access_token": "a" * 16_001}, "without an access token"),
        ({"access_token": "a", "token_type": "mac"}, "of a kind"),
        ({"access_token": "a", "refresh_token": {"b": 1}}, "without an access token"),
    ],
)
async def test_token_that_cannot_be_used_is_refused(facts: dict[str, Any], said: str) -> None:
    at = web({"https://auth.example/token": facts})
    with pytest.raises(SignInFailed, match=said):
        await flow.refresh(
            at, "https://auth.example/token", flow.Client("c"), refresh_token="r", resource=SERVER
        )


async def test_refusal_that_repeats_the_secrets_is_told_without_them() -> None:
    words = {"error": "invalid_grant", "error_description": "refresh-0123 of secret-0123 is used"}
    at = web({"https://auth.example/token": httpx2.Response(400, json=words)})
    client = flow.Client("c", "secret-0123", flow.POST)
    with pytest.raises(SignInFailed) as told:
        await flow.refresh(
            at, "https://auth.example/token", client, refresh_token="refresh-0123", resource=SERVER
        )
    assert "invalid_grant: *** of *** is used" in told.value.detail


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(60, 60), ("60", 60), (None, None), ("soon", None), (-1, 0), (1e99, 315360000)],
)
async def test_life_of_a_token_is_read_as_far_as_it_makes_sense(given: Any, seconds: Any) -> None:
    at = web({"https://auth.example/token": {"access_token": "a", "expires_in": given}})
    tokens = await flow.refresh(
        at, "https://auth.example/token", flow.Client("c"), refresh_token="r", resource=SERVER
    )
    assert (tokens.access_token, tokens.seconds) == ("a", seconds)


async def test_name_that_leads_into_the_private_network_is_refused_at_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ipaddress import ip_address

    from paca.engine.llm import transport

    async def resolve(host: str, port: int) -> list[Any]:
        return [ip_address("10.0.0.7")]

    monkeypatch.setattr(transport, "resolve", resolve)
    async with open_web(private_allowed=False) as guarded:
        with pytest.raises(SignInFailed, match=r"rebind.example is in a private network"):
            await guarded.get("https://rebind.example/")


def test_private_addresses_and_plain_http_need_a_permission() -> None:
    check_address("http://10.0.0.7:8080/token", private_allowed=True)
    with pytest.raises(SignInFailed):
        check_address("http://10.0.0.7:8080/token", private_allowed=False)
