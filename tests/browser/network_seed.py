"""A conversation whose commands have reached hosts, made by ``manage.py shell``; no worker answers it."""

import time
from uuid import UUID, uuid4

from paca.conversations import network_use
from paca.conversations.models import Conversation
from paca.sandbox.egress.booking import Booked
from paca.sandbox.egress.reasons import Reason
from tests.browser.row_kinds import stopped_chat


def conversation() -> UUID:
    """Make the conversation."""
    made = stopped_chat("Install what the tests need")
    now = time.time()
    _record(
        made,
        Booked(now, "packages.example", 443),
        Booked(now, "packages.example", 443, sent=1_200, received=98_000, begins=False),
        Booked(now, "evil.example" + "which-has-a-very-long-name" * 4, 443, Reason.NOT_LISTED),
    )
    return made


def without() -> UUID:
    """Make a conversation that has reached nothing."""
    return stopped_chat("Hello")


def reach(conversation_id: str, host: str) -> None:
    """Let a conversation reach one more host."""
    _record(UUID(conversation_id), Booked(time.time(), host, 443))


def _record(conversation_id: UUID, *lines: Booked) -> None:
    assert Conversation.objects.filter(pk=conversation_id).exists()
    network_use.record(conversation_id, uuid4().hex, lines, begin=0, end=1)
