"""Finds the sign-in service of an MCP server: from its refusal, its resource metadata and the service's own metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from paca.engine.mcp.oauth.requests import (
    Answer,
    SignInFailed,
    Web,
    check_address,
    is_plain,
    name_of,
    path_of,
)

RESOURCE_PATH = "/.well-known/oauth-protected-resource"
SERVICE_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
OFFLINE = "offline_access"
MAX_SCOPES = 50
# What a server refuses without a token. It is never carried out.
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "paca", "version": "1"},
    },
}
# From the beginning of a word only: else a long one would be read again from each of its letters.
PARAMETER = re.compile(r'\b(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))')


@dataclass(frozen=True, slots=True)
class SignInService:
    """A sign-in service and the resource that its tokens are for. Every address has been checked."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str
    resource: str
    scope: str
    names_itself: (
        bool  # its answers to the browser name it, so that one without the name is refused
    )
    token_auth: tuple[str, ...]


async def find_service(web: Web, server_url: str) -> SignInService:
    """The sign-in service of the server at this address.

    Raises ``SignInFailed`` if there is none, it cannot be reached, or its metadata do not fit together.
    """
    resource_facts, scope = await _resource(web, server_url)
    resource, services = server_url, []
    if resource_facts:
        resource = _resource_of(resource_facts, server_url)
        services = _texts(resource_facts, "authorization_servers")
        scope = scope or " ".join(_texts(resource_facts, "scopes_supported")[:MAX_SCOPES])
    # guard: oauth-scopes-are-plain
    if not is_plain(scope):
        raise SignInFailed(f"{name_of(server_url)} asks for scopes that are none.")
    # Servers of the first revision with OAuth are their own sign-in service.
    issuer = services[0] if services else _origin(server_url)
    # Also what of them is not part of an address that is asked: both are stored and sent.
    for each in (resource, issuer):
        check_address(each, private_allowed=web.private_allowed)
    facts = await _metadata(web, issuer)
    return _service(web, issuer, facts, resource, scope)


async def _resource(web: Web, server_url: str) -> tuple[dict[str, Any], str]:
    """The metadata of the resource, and the scope that the server asks for; both empty if there are none."""
    accept = {"Accept": "application/json, text/event-stream"}
    refusal = _challenge(await web.post_json(server_url, HELLO, accept))
    addresses = [refusal["resource_metadata"]] if "resource_metadata" in refusal else []
    path = path_of(server_url).rstrip("/")
    addresses += [_origin(server_url) + RESOURCE_PATH + each for each in dict.fromkeys((path, ""))]
    for address in addresses:
        answer = await web.get(address)
        if answer.is_ok and answer.facts:
            return answer.facts, refusal.get("scope", "")
    return {}, refusal.get("scope", "")


def _challenge(answer: Answer) -> dict[str, str]:
    """The parameters of a refusal for want of a token."""
    header = answer.headers.get("www-authenticate", "")
    if answer.status not in (401, 403) or not header:
        return {}
    return {name: quoted or plain for name, quoted, plain in PARAMETER.findall(header)}


def _resource_of(facts: dict[str, Any], server_url: str) -> str:
    """The name of the resource. Raises ``SignInFailed`` if it is not that of the server."""
    resource = facts.get("resource")
    if not isinstance(resource, str):
        raise SignInFailed(f"The metadata of {name_of(server_url)} name no resource.")
    path, asked = path_of(resource).rstrip("/"), path_of(server_url)
    within = asked.rstrip("/") == path or asked.startswith(f"{path}/")
    # guard: oauth-resource-is-the-server
    if _origin(resource) != _origin(server_url) or not within:
        raise SignInFailed(
            f"The metadata of {name_of(server_url)} are for {name_of(resource)}, which is another server."
        )
    return resource


async def _metadata(web: Web, issuer: str) -> dict[str, Any]:
    """The metadata of a sign-in service. Raises ``SignInFailed`` if it has none, or they name another issuer."""
    for address in _metadata_addresses(issuer):
        answer = await web.get(address)
        if not answer.is_ok or not answer.facts:
            continue
        named = answer.facts.get("issuer")
        # guard: oauth-issuer-is-the-one-asked
        if not isinstance(named, str) or named.rstrip("/") != issuer.rstrip("/"):
            raise SignInFailed(f"{name_of(address)} names another issuer than {name_of(issuer)}.")
        return answer.facts
    raise SignInFailed(
        f"{name_of(issuer)} does not say how to sign in: it has no metadata of a sign-in service."
    )


def _metadata_addresses(issuer: str) -> Iterator[str]:
    path = path_of(issuer).rstrip("/")
    for well_known in SERVICE_PATHS:
        yield _origin(issuer) + well_known + path
    if path:
        yield _origin(issuer) + path + SERVICE_PATHS[1]


def _service(
    web: Web, issuer: str, facts: dict[str, Any], resource: str, scope: str
) -> SignInService:
    # guard: oauth-pkce-is-a-must
    if "S256" not in _texts(facts, "code_challenge_methods_supported"):
        raise SignInFailed(
            f"{name_of(issuer)} does not say that it supports PKCE with S256, without which a sign-in is not safe."
        )
    addresses = {name: facts.get(name) for name in ("authorization_endpoint", "token_endpoint")}
    registration = facts.get("registration_endpoint") or ""
    for name, address in {**addresses, "registration_endpoint": registration}.items():
        if address == "" and name == "registration_endpoint":
            continue
        if not isinstance(address, str) or not address:
            raise SignInFailed(f"{name_of(issuer)} names no {name}.")
        check_address(address, private_allowed=web.private_allowed)
    if scope and OFFLINE in _texts(facts, "scopes_supported") and OFFLINE not in scope.split():
        scope = f"{scope} {OFFLINE}"
    return SignInService(
        issuer=str(facts["issuer"]),
        authorization_endpoint=str(addresses["authorization_endpoint"]),
        token_endpoint=str(addresses["token_endpoint"]),
        registration_endpoint=str(registration),
        resource=resource,
        scope=scope,
        names_itself=facts.get("authorization_response_iss_parameter_supported") is True,
        token_auth=tuple(_texts(facts, "token_endpoint_auth_methods_supported")),
    )


def _texts(facts: dict[str, Any], name: str) -> list[str]:
    value = facts.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SignInFailed(f"{url[:200]!r} is no address.") from None
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    shown = host if port in (None, usual) else f"{host}:{port}"
    return urlunsplit((parts.scheme, shown, "", "", ""))
