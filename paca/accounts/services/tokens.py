"""Services for API tokens."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from knox import crypto
from knox.settings import CONSTANTS, knox_settings

from paca.accounts import audit, permission_patterns
from paca.accounts.models import ApiToken, User
from paca.common import validation
from paca.common.errors import Invalid

MAX_LIFETIME_DAYS = 36_500


@transaction.atomic
def create(
    user: User,
    *,
    name: str,
    scopes: list[str] | None = None,
    lifetime: timedelta | None = None,
    by: audit.HasActor | None,
) -> tuple[ApiToken, str]:
    """Make a token; returns it with its secret, which is not stored.

    Raises ``Invalid`` if a scope is unknown or the name is empty.
    """
    scopes = sorted(set(scopes or []))
    if wrong := permission_patterns.find_unknown(scopes):
        raise Invalid(fields={"scopes": [f"{', '.join(wrong)}: no such permission."]})
    secret = knox_settings.TOKEN_PREFIX + crypto.create_token_string()
    token = ApiToken(
        user=user,
        name=name.strip(),
        scopes=scopes,
        expiry=timezone.now() + lifetime if lifetime is not None else None,
        digest=crypto.hash_token(secret),
        token_key=secret[: CONSTANTS.TOKEN_KEY_LENGTH],
    )
    validation.check(token)
    token.save()
    audit.record("token.created", token, by=by, owner=user.username, scopes=scopes)
    return token, secret


@transaction.atomic
def revoke(token: ApiToken, *, by: audit.HasActor | None) -> None:
    """Delete the token. It stops working at once."""
    audit.record("token.revoked", token, by=by, owner=token.user.username)
    token.delete()
