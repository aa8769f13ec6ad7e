"""Who has opened a socket, and what they may do there.

Both are checked at the handshake, on every command and every 30 seconds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
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
from paca.common.errors import NotAllowed, NotFound, PacaError
from paca.conversations import selectors
from paca.conversations.models import Conversation
from paca.projects.models import Member
from paca.projects.permissions import allows
from paca.projects.selectors import get_membership
from paca.realtime import tickets
from paca.realtime.handshake import Scope, header, query_parameter
from paca.realtime.protocol import CloseCode


class SignInNeeded(PacaError):
    """Sign in first: there is no session and no token here, or they have ended."""

    code = "sign_in_needed"
    status = 401


@dataclass(frozen=True, slots=True)
class Credential:
    """Names a session or a token. Each check looks it up again, so it ends when they end."""

    session_key: str = field(default="", repr=False)
    token_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated person, and the token they used, if they used one."""

    user: User
    token: ApiToken | None

    def allows(self, permission: str) -> bool:
        """Whether the token's scopes cover the permission; a session covers every permission."""
        return token_allows(self.token, permission)


def credential_from(scope: Scope) -> Credential:
    """The credential in a handshake: the header wins over the ticket, the ticket over the cookie.

    Raises ``SignInNeeded`` if the header or the ticket is not valid.
    """
    if authorization := header(scope, b"authorization"):
        return _credential_from_header(authorization)
    if ticket := query_parameter(scope, "ticket"):
        redeemed = tickets.redeem(ticket)
        if redeemed is None:
            raise SignInNeeded("This ticket is used up or older than 30 seconds.")
        return Credential(*redeemed)
    cookies = parse_cookie(header(scope, b"cookie"))
    return Credential(session_key=cookies.get(settings.SESSION_COOKIE_NAME, ""))


def _credential_from_header(authorization: str) -> Credential:
    found = authenticate_header(authorization)
    if found is None:
        raise SignInNeeded(
            "Authorization must be: Bearer and a token that is neither revoked nor expired."
        )
    _user, token = found
    return Credential(token_id=token.pk)


def authenticate(credential: Credential) -> Principal:
    """The person behind a credential. Raises ``SignInNeeded`` once the session or token has ended."""
    if credential.token_id is not None:
        return _authenticate_token(credential.token_id)
    if credential.session_key:
        request = HttpRequest()
        request.session = _session(credential.session_key)
        user = auth.get_user(request)
        if isinstance(user, User):
            return Principal(user, token=None)
    raise SignInNeeded


def _session(key: str) -> SessionBase:
    store: type[SessionBase] = import_string(f"{settings.SESSION_ENGINE}.SessionStore")
    return store(key)


def _authenticate_token(token_id: UUID) -> Principal:
    token = ApiToken.objects.select_related("user").filter(pk=token_id).first()
    if token is None or token.expired or not token.user.is_active:
        raise SignInNeeded("This token is unknown, revoked or expired.")
    return Principal(token.user, token)


# --- access ---------------------------------------------------------------------------------------


class CloseSocket(Exception):
    """The server closes the socket with this code. A page knows what to do with each code."""

    def __init__(self, code: CloseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class SocketAccess:
    """A principal's membership in the project that a socket belongs to."""

    principal: Principal
    member: Member

    def allows(self, permission: str) -> bool:
        """Whether the member's role covers the permission, and the token's scopes too if there is a token."""
        return allows(self.member, permission) and self.principal.allows(permission)

    def require(self, permission: str) -> None:
        """Raises ``NotAllowed`` unless the permission is granted."""
        if not self.allows(permission):
            raise NotAllowed


@dataclass(frozen=True, slots=True)
class ConversationAccess(SocketAccess):
    """A principal's membership in the project of a conversation, and the conversation as it is now."""

    conversation: Conversation


def authorize_conversation(credential: Credential, conversation_id: UUID) -> ConversationAccess:
    """The access of the credential's owner to a conversation that they may at least read.

    Raises ``CloseSocket`` if they may not.
    """
    with _errors_as_close_codes():
        principal = authenticate(credential)
        conversation = selectors.get_by_id(conversation_id)
        # guard: realtime-membership
        member = get_membership(principal.user, conversation.project_id)
        access = ConversationAccess(principal, member, conversation)
        access.require("conversations:read")
        return access


def authorize_project(credential: Credential, project_id: UUID) -> SocketAccess:
    """The access of the credential's owner to a project that they may at least read.

    Raises ``CloseSocket`` if they may not.
    """
    with _errors_as_close_codes():
        principal = authenticate(credential)
        access = SocketAccess(principal, get_membership(principal.user, project_id))
        access.require("projects:read")
        return access


@contextmanager
def _errors_as_close_codes() -> Iterator[None]:
    try:
        yield
    except SignInNeeded as error:
        raise CloseSocket(CloseCode.SIGN_IN, error.detail) from None
    except NotAllowed as error:
        raise CloseSocket(CloseCode.NOT_ALLOWED, error.detail) from None
    except NotFound as error:
        raise CloseSocket(CloseCode.NOT_FOUND, error.detail) from None
