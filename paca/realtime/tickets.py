"""Selling and taking tickets: a ticket opens one socket within 30 seconds."""

import hashlib
import secrets
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from paca.accounts.models import User
from paca.realtime.models import Ticket

LIFE = timedelta(seconds=30)


def issue(user: User, *, session_key: str = "", token_id: UUID | None = None) -> str:
    """A fresh ticket that lends this session or token; also clears away those of the past."""
    ticket = secrets.token_urlsafe(32)
    now = timezone.now()
    Ticket.objects.filter(expires_at__lte=now).delete()
    Ticket.objects.create(
        digest=_digest(ticket),
        user=user,
        session_key=session_key,
        token_id=token_id,
        expires_at=now + LIFE,
    )
    return ticket


@transaction.atomic
def redeem(ticket: str) -> tuple[str, UUID | None] | None:
    """The session key or token id it stands for; None if it is unknown, used or too old."""
    live = Ticket.objects.filter(digest=_digest(ticket), expires_at__gt=timezone.now())
    found = live.first()
    # Of two who bring the same ticket at once, only one deletes the row.
    if found is None or not live.delete()[0]:
        return None
    return found.session_key, found.token_id


def _digest(ticket: str) -> str:
    # It is random and lives for seconds: a slow hash would protect nothing.
    return hashlib.sha256(ticket.encode()).hexdigest()
