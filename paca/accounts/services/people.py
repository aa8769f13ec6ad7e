"""Services for people and for one-time links."""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth import password_validation
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.accounts.models import OneTimeLink, User
from paca.common import validation
from paca.common.errors import Invalid, NotFound

LINK_LIFETIME = timedelta(hours=24)


class LinkNotUsable(NotFound):
    """This link is unknown, used or too old. Print a new one with: python manage.py sign_in_link USER"""

    code = "link_is_over"


@transaction.atomic
def make_first_admin(*, username: str = "admin", password: str = "") -> User | None:
    """Make the admin of an empty installation; None if there is a person already.

    Without a password the admin can sign in only with a one-time link.
    """
    if User.objects.exists():
        return None
    admin = User.objects.create_superuser(username, password=password or None)
    audit.record("person.created", admin, by=None, superuser=True)
    return admin


@transaction.atomic
def create_person(*, username: str, password: str, name: str = "") -> User:
    """Make a person who can sign in. Raises ``Invalid`` with the errors of each field.

    The caller has checked that this person may have an account, for example by an invitation.
    """
    user = User(username=username.strip(), name=name.strip())
    errors = _password_errors(password, user)
    try:
        validation.check(user, exclude=("password",))
    except Invalid as invalid:
        errors = {**invalid.fields, **errors}
    if errors:
        raise Invalid(fields=errors)
    user.set_password(password)
    user.save()
    audit.record("person.created", user, by=user)
    return user


def _password_errors(password: str, user: User) -> dict[str, list[str]]:
    try:
        password_validation.validate_password(password, user)
    except ValidationError as error:
        return {"password": list(error.messages)}
    return {}


@transaction.atomic
def create_one_time_link(user: User, *, by: audit.HasActor | None = None) -> str:
    """Make a link that signs the person in; returns its secret. Earlier unused links end."""
    OneTimeLink.objects.filter(user=user, used_at=None).delete()
    secret = secrets.token_urlsafe(32)
    OneTimeLink.objects.create(
        user=user, digest=_digest(secret), expires_at=timezone.now() + LINK_LIFETIME
    )
    audit.record("link.created", user, by=by)
    return secret


def remove_expired_sign_ins() -> None:
    """Delete the sessions and one-time links whose time is over. They would sign nobody in."""
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    OneTimeLink.objects.filter(expires_at__lt=timezone.now()).delete()


def get_link_user(secret: str) -> User:
    """The person whom a link signs in. The link stays unused, as mail programs open links to preview.

    Raises ``LinkNotUsable`` if the link is used, too old or unknown.
    """
    return _get_unused_link(secret).user


@transaction.atomic
def redeem_link(secret: str) -> User:
    """Use the link; returns its person. Of two concurrent uses only one succeeds.

    Raises ``LinkNotUsable`` if the link is used, too old or unknown.
    """
    link = _get_unused_link(secret)
    now = timezone.now()
    if not OneTimeLink.objects.filter(pk=link.pk, used_at=None).update(used_at=now):
        raise LinkNotUsable
    audit.record("link.redeemed", link.user, by=link.user)
    return link.user


def _get_unused_link(secret: str) -> OneTimeLink:
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
        raise LinkNotUsable
    return link


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
