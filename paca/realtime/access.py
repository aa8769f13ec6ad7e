"""Authorizes sockets: when one opens, on every command and every 30 seconds."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from paca.common.errors import NotAllowed, NotFound
from paca.conversations import selectors
from paca.conversations.models import Conversation
from paca.projects.models import Member
from paca.projects.permissions import allows
from paca.projects.selectors import get_membership
from paca.realtime.credentials import Credential, Principal, SignInNeeded, authenticate
from paca.realtime.protocol import CloseCode


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
