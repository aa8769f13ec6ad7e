"""Authenticates a request by session cookie with CSRF token, or by ``Authorization: Bearer paca_...``."""

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

# The minute of a token's last use is precise enough, and saves a write for each request.
LAST_USE_PRECISION = timedelta(minutes=1)


class TokenAuthentication(KnoxAuthentication):  # type: ignore[misc] # knox has no types
    """Finds the token by its first characters and its hash. Tokens are never cached."""

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        """Raises ``AuthenticationFailed`` if the token is unknown or expired."""
        try:
            user, found = super().authenticate_credentials(token)
        except UnicodeDecodeError:
            raise AuthenticationFailed from None
        context = request_ids.current()
        context.token_id, context.token_name = found.pk, found.name
        _record_use(found)
        return user, found

    def _cleanup_token(self, token: ApiToken) -> bool:
        """Whether the token is expired. Knox would also delete it and read its user's other tokens."""
        return token.expired


class SessionAuthentication(DjangoSession):
    """Session authentication with an error code of its own for a missing CSRF token."""

    def enforce_csrf(self, request: Request) -> None:
        """Raises ``CsrfFailed`` if the CSRF token is missing or wrong."""
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            raise CsrfFailed(error.detail) from None


def authenticate_header(authorization: str) -> tuple[User, ApiToken] | None:
    """The user and token of an ``Authorization`` header, for sockets; None if it is not valid."""
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        return None
    try:
        user, token = TokenAuthentication().authenticate_credentials(secret.strip().encode())
    except AuthenticationFailed:
        return None
    return user, token


def _record_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - LAST_USE_PRECISION:
        # Reading must still work when the disk is full and this write fails.
        with tolerated("noting the use of a token"):
            # Not save(): it would bring back a token that was revoked in the meantime.
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
