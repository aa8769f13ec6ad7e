"""Issues and redeems tickets. A ticket opens one socket within 30 seconds."""

import hashlib
import secrets
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from paca.accounts.models import User
from paca.realtime.models import Ticket

LIFETIME = timedelta(seconds=30)


def issue(user: User, *, session_key: str = "", token_id: UUID | None = None) -> str:
    """Create a ticket for this session or token. Expired tickets of everybody are deleted."""
    ticket = secrets.token_urlsafe(32)
    now = timezone.now()
    Ticket.objects.filter(expires_at__lte=now).delete()
    Ticket.objects.create(
        digest=_digest(ticket),
        user=user,
        session_key=session_key,
        token_id=token_id,
        expires_at=now + LIFETIME,
    )
    return ticket


@transaction.atomic
def redeem(ticket: str) -> tuple[str, UUID | None] | None:
    """The ticket's session key and token id; None if it is unknown, used or expired."""
    valid = Ticket.objects.filter(digest=_digest(ticket), expires_at__gt=timezone.now())
    found = valid.first()
    # Of two clients that send the same ticket at once, only one deletes the row.
    if found is None or not valid.delete()[0]:
        return None
    return found.session_key, found.token_id


def _digest(ticket: str) -> str:
    # A ticket is random and lives for seconds: a slow hash would protect nothing.
    return hashlib.sha256(ticket.encode()).hexdigest()
