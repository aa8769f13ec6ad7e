"""Services on sign-ins to MCP servers: begun ones, and the tokens of finished ones.

A refresh token is used by one process at a time: ``access_token`` gives the refresh to one caller, under a lease, and
lets the others wait. If that process dies in between, the lease ends and the next caller tries the same token once
more. A service that has already replaced it refuses then, and a person has to sign in again; that is said.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from paca.accounts import audit
from paca.accounts.models import User
from paca.agents import encryption
from paca.agents.models import McpGrant, McpHealth, McpServer, McpSignIn
from paca.agents.services.mcp_servers import place_of, tell_pages
from paca.common.errors import Conflict
from paca.engine.mcp.oauth.flow import Client, Flow, Tokens
from paca.engine.mcp.settings import SignInNeeded

SIGN_IN_LIFE = timedelta(minutes=10)
MAX_SIGN_INS = 20  # begun and not finished, of one server
# Longer than a refresh can take: two requests of 10 s each.
RENEWAL_LIFE = timedelta(seconds=60)
MARGIN = timedelta(seconds=60)  # a token is not used shortly before its end
SIGN_IN = "Sign in to it again in the settings of the agent."


class SignInNotFound(Conflict):
    """This sign-in has ended, was used already, or belongs to another session. Begin it again."""

    code = "mcp_sign_in_not_found"


class McpServerChanged(Conflict):
    """The server was changed during the sign-in. Begin it again."""

    code = "mcp_server_changed"


@dataclass(frozen=True, slots=True)
class Renewal:
    """A refresh that the caller is to carry out, and to report to ``renewed`` or ``renewal_failed``."""

    server_id: UUID
    id: UUID
    token_endpoint: str
    client: Client
    resource: str
    private_allowed: bool
    refresh_token: str = field(repr=False)


def state_of(server: McpServer) -> str:
    """How far the sign-in of a server is: ``none``, ``signed_in`` or ``lost``."""
    grant = getattr(server, "grant", None)
    if grant is None:
        return "none"
    return "lost" if grant.lost_reason else "signed_in"


@transaction.atomic
def store_sign_in(
    server: McpServer, *, user: User, session_key: str, state: str, flow: Flow
) -> None:
    """Remember a begun sign-in until the person comes back, for ten minutes at most."""
    _ended().delete()
    newest = server.sign_ins.order_by("-pk").values_list("pk", flat=True)[: MAX_SIGN_INS - 1]
    server.sign_ins.exclude(pk__in=list(newest)).delete()
    McpSignIn.objects.create(
        state_hash=_hash(state),
        session_hash=_hash(session_key),
        server=server,
        user=user,
        encrypted_flow=encryption.encrypt(json.dumps({"url": server.url, **flow.as_dict()})),
    )


@transaction.atomic
def take_sign_in(*, state: str, user: User, session_key: str) -> tuple[McpServer, Flow, str]:
    """The server and the flow of a begun sign-in, and the server's address then. It can be taken once.

    Raises ``SignInNotFound``, and ``SecretUnreadable``.
    """
    # guard: oauth-state-of-this-session
    found = McpSignIn.objects.filter(
        state_hash=_hash(state),
        session_hash=_hash(session_key),
        user=user,
        created_at__gt=timezone.now() - SIGN_IN_LIFE,
    )
    row = found.select_related("server__agent__project").first()
    # The deletion decides between two that come with the same state.
    # guard: oauth-state-works-once
    if row is None or not McpSignIn.objects.filter(pk=row.pk).delete()[0]:
        raise SignInNotFound
    facts = json.loads(encryption.decrypt(row.encrypted_flow))
    url = facts.pop("url")
    return row.server, Flow(**facts), url


@transaction.atomic
def store_grant(server: McpServer, flow: Flow, tokens: Tokens, *, url: str, by: User) -> None:
    """Store the tokens of a finished sign-in in place of former ones.

    Raises ``McpServerChanged`` if the server has another address than when the sign-in began.
    """
    present = McpServer.objects.select_for_update(no_key=True).filter(pk=server.pk).first()
    # guard: oauth-tokens-of-the-present-address
    if present is None or present.url != url or not present.uses_oauth:
        raise McpServerChanged
    McpGrant.objects.update_or_create(
        server=present,
        defaults={
            "by": by,
            "issuer": flow.issuer,
            "token_endpoint": flow.token_endpoint,
            "resource": flow.resource,
            "client_id": flow.client_id,
            "token_auth": flow.token_auth,
            "encrypted_client_secret": _sealed(flow.client_secret),
            "granted_at": timezone.now(),
            "renewal": None,
            "renewal_until": None,
            **_columns(tokens),
        },
    )
    _set_health(present, McpHealth.UNKNOWN)
    audit.record("mcp_server.signed_in", present, by=by, **place_of(server), issuer=flow.issuer)
    tell_pages(server)


@transaction.atomic
def sign_out(server: McpServer, *, by: audit.HasActor | None) -> None:
    """Forget the tokens. The service is not told: they end there by themselves."""
    if not McpGrant.objects.filter(server=server).delete()[0]:
        return
    _set_health(server, McpHealth.SIGN_IN_NEEDED)
    audit.record("mcp_server.signed_out", server, by=by, **place_of(server))
    tell_pages(server)


@transaction.atomic
def access_token(
    agent_id: UUID, server_id: UUID, *, url: str, refused: str = ""
) -> str | Renewal | None:
    """The access token of a server of this agent; a refresh to carry out; or None: another process refreshes it.

    ``url``: where the token is to be sent. ``refused``: the token that the server no longer takes. Raises
    ``SignInNeeded`` if a person has to sign in, or the server has another address now.
    """
    found = McpGrant.objects.select_related("server__agent__project")
    grant = found.filter(server=server_id, server__agent=agent_id).first()
    if grant is None or grant.lost_reason:
        raise SignInNeeded((grant and grant.lost_reason) or "Nobody has signed in to it yet.")
    # A run that began before the server moved still knows the former address.
    # guard: oauth-tokens-go-to-no-former-address
    if grant.server.url != url:
        raise SignInNeeded("The server has another address now, which the next message uses.")
    token = encryption.decrypt(grant.encrypted_access_token)
    now = timezone.now()
    if token != refused and (grant.expires_at is None or grant.expires_at > now + MARGIN):
        return token
    if not grant.encrypted_refresh_token:
        reason = f"The sign-in has ended, and its service renews it not by itself. {SIGN_IN}"
        raise SignInNeeded(reason)
    return _take_renewal(grant, now + RENEWAL_LIFE)


def _take_renewal(grant: McpGrant, until: object) -> Renewal | None:
    renewal = uuid4()
    # guard: oauth-one-refresh-at-a-time
    free = Q(renewal=None) | Q(renewal_until__lte=timezone.now())
    mine = McpGrant.objects.filter(
        free, pk=grant.pk, encrypted_refresh_token=grant.encrypted_refresh_token
    )
    if not mine.update(renewal=renewal, renewal_until=until):
        return None
    secret = grant.encrypted_client_secret
    client = Client(grant.client_id, encryption.decrypt(secret) if secret else "", grant.token_auth)
    return Renewal(
        grant.pk,
        renewal,
        grant.token_endpoint,
        client,
        grant.resource,
        grant.server.is_private_allowed,
        encryption.decrypt(grant.encrypted_refresh_token),
    )


@transaction.atomic
def renewed(renewal: Renewal, tokens: Tokens) -> bool:
    """Store what a refresh gave; gives whether the refresh still was this caller's."""
    columns = _columns(tokens)
    if not tokens.refresh_token:
        del columns["encrypted_refresh_token"]
    if not tokens.scope:
        del columns["scope"]
    # guard: oauth-late-refresh-stores-nothing
    mine = McpGrant.objects.filter(pk=renewal.server_id, renewal=renewal.id)
    return bool(mine.update(renewal=None, renewal_until=None, **columns))


@transaction.atomic
def renewal_failed(renewal: Renewal, reason: str, *, final: bool) -> None:
    """Let the next caller try again; or, if it is ``final``, say that a person has to sign in again."""
    mine = McpGrant.objects.filter(pk=renewal.server_id, renewal=renewal.id)
    lost = f"{reason} {SIGN_IN}" if final else ""
    if not mine.update(renewal=None, renewal_until=None, lost_reason=lost) or not final:
        return
    server = McpServer.objects.select_related("agent").get(pk=renewal.server_id)
    _set_health(server, McpHealth.SIGN_IN_NEEDED, lost)
    tell_pages(server)


def _set_health(server: McpServer, state: McpHealth, error: str = "") -> None:
    McpServer.objects.filter(pk=server.pk).update(health_state=state, health_error=error)


def _columns(tokens: Tokens) -> dict[str, object]:
    ends = None if tokens.seconds is None else timezone.now() + timedelta(seconds=tokens.seconds)
    return {
        "encrypted_access_token": _sealed(tokens.access_token),
        "encrypted_refresh_token": _sealed(tokens.refresh_token),
        "expires_at": ends,
        "scope": tokens.scope,
        "lost_reason": "",
    }


def _sealed(text: str) -> str:
    return encryption.encrypt(text) if text else ""


def _ended() -> QuerySet[McpSignIn]:
    return McpSignIn.objects.filter(created_at__lte=timezone.now() - SIGN_IN_LIFE)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
