"""A sign-in by authorization code with PKCE: its beginning, its end, and the refresh of its token."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from paca.common.secret_removal import text_without_secrets
from paca.common.text import is_storable
from paca.engine.mcp.oauth.discovery import SignInService, find_service
from paca.engine.mcp.oauth.requests import (
    Answer,
    GrantRefused,
    SignInFailed,
    Web,
    is_plain,
    name_of,
    said_in,
)

CLIENT_NAME = "Paca"
NONE, BASIC, POST = "none", "client_secret_basic", "client_secret_post"
MAX_TOKEN_CHARACTERS = 16_000
MAX_SECONDS = 10 * 365 * 24 * 3600
# Answers to a refresh after which the same refresh token never works again.
SECRET_FIELDS = ("code", "code_verifier", "refresh_token")
FINAL_ERRORS = ("invalid_grant", "invalid_client", "unauthorized_client")


@dataclass(frozen=True, slots=True)
class Client:
    """Paca as the sign-in service knows it. ``token_auth`` is how it shows that it is this client."""

    id: str
    secret: str = field(default="", repr=False)
    token_auth: str = NONE


@dataclass(frozen=True, slots=True)
class Flow:
    """A begun sign-in: what its end needs. It is stored encrypted between both."""

    issuer: str
    token_endpoint: str
    resource: str
    scope: str
    redirect_uri: str
    names_itself: bool
    client_id: str
    token_auth: str
    client_secret: str = field(default="", repr=False)
    verifier: str = field(default="", repr=False)

    def as_dict(self) -> dict[str, Any]:
        """All facts, for ``Flow(**facts)``."""
        return asdict(self)

    @property
    def client(self) -> Client:
        """Paca, as the sign-in service knows it."""
        return Client(self.client_id, self.client_secret, self.token_auth)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a sign-in service granted. ``seconds`` is the life of the access token; None if it did not say.

    An empty ``refresh_token`` after a refresh means that the former one stays.
    """

    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    seconds: int | None = None
    scope: str = ""


async def begin(
    web: Web, server_url: str, *, redirect_uri: str, state: str, client: Client | None = None
) -> tuple[Flow, str]:
    """Find the sign-in service, register Paca there, and give the flow with the address for the person's browser.

    ``client`` is one that people registered by hand. Raises ``SignInFailed``.
    """
    service = await find_service(web, server_url)
    known = client or await _register(web, service, redirect_uri)
    if client is not None and client.secret:
        known = Client(client.id, client.secret, _choose_auth(service))
    verifier = secrets.token_urlsafe(64)
    flow = Flow(
        service.issuer,
        service.token_endpoint,
        service.resource,
        service.scope,
        redirect_uri,
        service.names_itself,
        known.id,
        known.token_auth,
        known.secret,
        verifier,
    )
    return flow, _authorization_url(service, flow, state)


def _authorization_url(service: SignInService, flow: Flow, state: str) -> str:
    digest = hashlib.sha256(flow.verifier.encode()).digest()
    asked = {
        "response_type": "code",
        "client_id": flow.client_id,
        "redirect_uri": flow.redirect_uri,
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": flow.resource,
    }
    if flow.scope:
        asked["scope"] = flow.scope
    joined = "&" if urlsplit(service.authorization_endpoint).query else "?"
    return f"{service.authorization_endpoint}{joined}{urlencode(asked)}"


async def _register(web: Web, service: SignInService, redirect_uri: str) -> Client:
    """Paca, newly registered. Raises ``SignInFailed`` if the service registers nobody by itself."""
    if not service.registration_endpoint:
        raise SignInFailed(
            f"{name_of(service.issuer)} registers no clients by itself. Register Paca there by hand with the "
            f"redirect address {redirect_uri}, and write the client id into the server's settings."
        )
    wanted = {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": NONE,
    }
    if service.scope:
        wanted["scope"] = service.scope
    answer = await web.post_json(service.registration_endpoint, wanted)
    client_id, secret = answer.facts.get("client_id"), answer.facts.get("client_secret") or ""
    if not answer.is_ok or not isinstance(client_id, str) or not client_id:
        raise SignInFailed(_failed(service.registration_endpoint, "did not register Paca", answer))
    # guard: oauth-client-is-plain
    if not isinstance(secret, str) or not (is_plain(client_id) and is_plain(secret)):
        raise SignInFailed(f"{name_of(service.issuer)} gave a client that Paca cannot use.")
    given = answer.facts.get("token_endpoint_auth_method")
    auth = str(given) if given else (BASIC if secret else NONE)
    if auth not in (NONE, BASIC, POST):
        raise SignInFailed(
            f"{name_of(service.issuer)} wants the client to sign in by {auth[:50]}, which Paca cannot."
        )
    return Client(client_id, secret, auth)


def _choose_auth(service: SignInService) -> str:
    """How a client with a secret shows it: in the header unless the service takes it in the form only."""
    takes = service.token_auth
    return POST if POST in takes and BASIC not in takes else BASIC


async def finish(web: Web, flow: Flow, answer: Mapping[str, str]) -> Tokens:
    """Exchange the code with which the person came back. ``answer`` is the query of that address.

    Raises ``SignInFailed`` if the service refused, or the answer is of another service.
    """
    named = answer.get("iss", "")
    # guard: oauth-answer-of-the-service-that-was-asked
    if (named or flow.names_itself) and named != flow.issuer:
        raise SignInFailed(
            "Another sign-in service answered than the one that was asked. Nothing was sent to it."
        )
    if answer.get("error"):
        said = said_in(Answer(400, {}, dict(answer)))
        raise SignInFailed(f"{name_of(flow.issuer)} did not allow it: {said}")
    if not (code := answer.get("code", "")):
        raise SignInFailed(f"{name_of(flow.issuer)} sent neither a code nor an error.")
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": flow.redirect_uri,
        "code_verifier": flow.verifier,
        "resource": flow.resource,
    }
    return await _ask_for_tokens(web, flow.token_endpoint, flow.client, form)


async def refresh(
    web: Web, token_endpoint: str, client: Client, *, refresh_token: str, resource: str
) -> Tokens:
    """A new access token. Raises ``GrantRefused`` if the refresh token works no longer, and ``SignInFailed``."""
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token, "resource": resource}
    return await _ask_for_tokens(web, token_endpoint, client, form)


async def _ask_for_tokens(
    web: Web, token_endpoint: str, client: Client, form: dict[str, str]
) -> Tokens:
    headers: dict[str, str] = {}
    if client.token_auth == BASIC:
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        form = {**form, "client_id": client.id}
    if client.token_auth == POST:
        form = {**form, "client_secret": client.secret}
    answer = await web.post_form(token_endpoint, form, headers)
    if not answer.is_ok:
        # A service may repeat what it was sent, and the words go to people, logs and models.
        # guard: oauth-errors-repeat-no-secret
        sent = {client.secret, *(form.get(name, "") for name in SECRET_FIELDS)}
        failed = text_without_secrets(_failed(token_endpoint, "gave no token", answer), sent)
        # guard: oauth-final-refusals
        final = answer.status in (400, 401) and answer.facts.get("error") in FINAL_ERRORS
        raise GrantRefused(failed) if final else SignInFailed(failed)
    return _tokens(token_endpoint, answer.facts)


def _tokens(token_endpoint: str, facts: dict[str, Any]) -> Tokens:
    access, renewal = facts.get("access_token"), facts.get("refresh_token") or ""
    kind = facts.get("token_type", "Bearer")
    texts = [access, renewal, kind]
    fits = all(isinstance(each, str) and len(each) <= MAX_TOKEN_CHARACTERS for each in texts)
    if not fits or not access or not (access.isascii() and access.isprintable()):
        raise SignInFailed(f"{name_of(token_endpoint)} answered without an access token.")
    if str(kind).lower() != "bearer" or not is_storable(str(renewal)):
        raise SignInFailed(
            f"{name_of(token_endpoint)} gave a token of a kind that Paca cannot use."
        )
    scope = facts.get("scope")
    return Tokens(
        access,
        str(renewal),
        _seconds(facts.get("expires_in")),
        scope if isinstance(scope, str) and is_storable(scope) else "",
    )


def _seconds(value: Any) -> int | None:
    """The life of a token in seconds; None if it is not known."""
    try:
        seconds = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(seconds, 0), MAX_SECONDS)


def _failed(address: str, failure: str, answer: Answer) -> str:
    said = said_in(answer)
    return f"{name_of(address)} {failure} (HTTP {answer.status}{': ' + said if said else ''})."
