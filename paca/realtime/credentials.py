"""How a visitor of a socket proves who they are, and whether the proof still holds."""

from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.contrib import auth
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.http.cookie import parse_cookie
from django.utils.module_loading import import_string

from paca.accounts.api.authentication import authenticate_header
from paca.accounts.api.base import token_allows
from paca.accounts.models import ApiToken, User
from paca.common.errors import PacaError
from paca.realtime import tickets
from paca.realtime.handshake import Scope, header, query


class SignInNeeded(PacaError):
    """Sign in first: there is no session and no token here, or they have ended."""

    code = "sign_in_needed"
    status = 401


@dataclass(frozen=True, slots=True)
class Credential:
    """Names a session or a token. It is looked up again at each check, so it ends when they end."""

    session_key: str = field(default="", repr=False)
    token_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person, and the token they came by, if they came by one."""

    user: User
    token: ApiToken | None

    def allows(self, permission: str) -> bool:
        """Whether the way they came by covers the right; a session covers all."""
        return token_allows(self.token, permission)


def presented(scope: Scope) -> Credential:
    """What the handshake carries: the header wins over the ticket, the ticket over the cookie."""
    if authorization := header(scope, b"authorization"):
        return _of_bearer(authorization)
    if ticket := query(scope, "ticket"):
        bought_with = tickets.redeem(ticket)
        if bought_with is None:
            raise SignInNeeded("This ticket is used up or older than 30 seconds.")
        return Credential(*bought_with)
    cookies = parse_cookie(header(scope, b"cookie"))
    return Credential(session_key=cookies.get(settings.SESSION_COOKIE_NAME, ""))


def _of_bearer(authorization: str) -> Credential:
    found = authenticate_header(authorization)
    if found is None:
        raise SignInNeeded(
            "Authorization must be: Bearer and a token that is neither revoked nor expired."
        )
    _user, token = found
    return Credential(token_id=token.pk)


def verify(credential: Credential) -> Visitor:
    """Who this is now. Raises ``SignInNeeded`` once the session or token has ended."""
    if credential.token_id is not None:
        return _by_token(credential.token_id)
    if credential.session_key:
        request = HttpRequest()
        request.session = _session(credential.session_key)
        user = auth.get_user(request)
        if isinstance(user, User):
            return Visitor(user, token=None)
    raise SignInNeeded


def _session(key: str) -> SessionBase:
    store: type[SessionBase] = import_string(f"{settings.SESSION_ENGINE}.SessionStore")
    return store(key)


def _by_token(token_id: UUID) -> Visitor:
    token = ApiToken.objects.select_related("user").filter(pk=token_id).first()
    if token is None or token.expired or not token.user.is_active:
        raise SignInNeeded("This token is unknown, revoked or expired.")
    return Visitor(token.user, token)
