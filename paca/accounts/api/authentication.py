"""Who sends a request: a session cookie with its CSRF token, or ``Authorization: Bearer paca_...``."""

from datetime import timedelta

from django.utils import timezone
from knox.auth import TokenAuthentication as KnoxAuthentication
from rest_framework.authentication import SessionAuthentication as DjangoSession
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from paca.accounts.models import ApiToken, User
from paca.common import request_ids
from paca.common.api.errors import CsrfFailed
from paca.common.best_effort import tolerated

# Knowing the minute of a token's last use is enough; a write for each request is not worth it.
LAST_USE_IS_NOTED_EVERY = timedelta(minutes=1)


class TokenAuthentication(KnoxAuthentication):  # type: ignore[misc] # knox has no types
    """Finds the token by its first characters and its hash; none is kept in any cache."""

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        try:
            user, found = super().authenticate_credentials(token)
        except UnicodeDecodeError:
            raise AuthenticationFailed from None
        context = request_ids.current()
        context.token_id, context.token_name = found.pk, found.name
        _note_use(found)
        return user, found

    def _cleanup_token(self, token: ApiToken) -> bool:
        """Tell an expired one; knox would also delete it, and read all others of its user."""
        return token.expired


class SessionAuthentication(DjangoSession):
    """Django's, with a code of its own for a missing CSRF token."""

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            raise CsrfFailed(error.detail) from None


def user_of(authorization: str) -> tuple[User, ApiToken] | None:
    """Whom an ``Authorization`` header names, for doors that are no REST view; None if nobody."""
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        return None
    try:
        user, token = TokenAuthentication().authenticate_credentials(secret.strip().encode())
    except AuthenticationFailed:
        return None
    return user, token


def _note_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - LAST_USE_IS_NOTED_EVERY:
        # A disk without room is no reason to let nobody read.
        with tolerated("noting the use of a token"):
            # Not save(): the row may have been revoked meanwhile and must not come back.
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
