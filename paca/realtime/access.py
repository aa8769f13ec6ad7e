"""Who may use a socket: asked when it opens, on every command and every 30 seconds."""

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
from paca.realtime.credentials import Credential, SignInNeeded, Visitor, verify
from paca.realtime.protocol import Close


class Refused(Exception):
    """The socket ends with this code; the page knows what to do with each."""

    def __init__(self, code: Close, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Standing:
    """What a visitor is in the project behind the socket."""

    visitor: Visitor
    member: Member

    def allows(self, permission: str) -> bool:
        """Both must agree: the member's role, and the scopes of the token if there is one."""
        return allows(self.member, permission) and self.visitor.allows(permission)

    def demand(self, permission: str) -> None:
        """Raise ``NotAllowed`` unless the right is there."""
        if not self.allows(permission):
            raise NotAllowed


@dataclass(frozen=True, slots=True)
class ConversationStanding(Standing):
    """The same, with the conversation as it is now."""

    conversation: Conversation


def to_conversation(credential: Credential, conversation_id: UUID) -> ConversationStanding:
    """Where the visitor stands in a conversation they may at least read. Raises ``Refused``."""
    with _closing():
        visitor = verify(credential)
        conversation = selectors.get_by_id(conversation_id)
        # guard: realtime-membership
        member = get_membership(visitor.user, conversation.project_id)
        standing = ConversationStanding(visitor, member, conversation)
        standing.demand("conversations:read")
        return standing


def to_project(credential: Credential, project_id: UUID) -> Standing:
    """Where the visitor stands in a project they may at least read. Raises ``Refused``."""
    with _closing():
        visitor = verify(credential)
        standing = Standing(visitor, get_membership(visitor.user, project_id))
        standing.demand("projects:read")
        return standing


@contextmanager
def _closing() -> Iterator[None]:
    try:
        yield
    except SignInNeeded as error:
        raise Refused(Close.SIGN_IN, error.detail) from None
    except NotAllowed as error:
        raise Refused(Close.NO_RIGHT, error.detail) from None
    except NotFound as error:
        raise Refused(Close.NOT_THERE, error.detail) from None
