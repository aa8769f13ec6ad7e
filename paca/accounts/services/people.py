"""The first admin, and links that sign a person in once."""

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.accounts.models import OneTimeLink, User
from paca.common.errors import NotFound

LINK_LASTS = timedelta(hours=24)


class LinkIsOver(NotFound):
    """This link has been used or is too old. Print a new one with: python manage.py sign_in_link USER"""

    code = "link_is_over"


@transaction.atomic
def make_first_admin(*, username: str = "admin", password: str = "") -> User | None:
    """Make the admin of an empty installation; None when somebody is there already.

    Without a password nobody can sign in as the admin except by a one-time link.
    """
    if User.objects.exists():
        return None
    admin = User.objects.create_superuser(username, password=password or None)
    audit.record("person.created", admin, by=None, superuser=True)
    return admin


@transaction.atomic
def one_time_link(user: User, *, by: audit.Acts | None = None) -> str:
    """The secret part of a new link for this person; earlier unused links end."""
    OneTimeLink.objects.filter(user=user, used_at=None).delete()
    secret = secrets.token_urlsafe(32)
    OneTimeLink.objects.create(
        user=user, digest=_digest(secret), expires_at=timezone.now() + LINK_LASTS
    )
    audit.record("link.created", user, by=by)
    return secret


def look_up(secret: str) -> User:
    """Whom a link signs in, without using it up: mail and chat programs open links to look."""
    return _valid(secret).user


@transaction.atomic
def redeem(secret: str) -> User:
    """Use the link up. Of two at the same time, one wins."""
    link = _valid(secret)
    now = timezone.now()
    if not OneTimeLink.objects.filter(pk=link.pk, used_at=None).update(used_at=now):
        raise LinkIsOver
    audit.record("link.redeemed", link.user, by=link.user)
    return link.user


def _valid(secret: str) -> OneTimeLink:
    link = (
        OneTimeLink.objects.filter(
            digest=_digest(secret),
            used_at=None,
            expires_at__gt=timezone.now(),
            user__is_active=True,
        )
        .select_related("user")
        .first()
    )
    if link is None:
        raise LinkIsOver
    return link


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
