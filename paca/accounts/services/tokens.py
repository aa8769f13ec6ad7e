"""Making and revoking API tokens."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from knox import crypto
from knox.settings import CONSTANTS, knox_settings

from paca.accounts import audit, permission_patterns
from paca.accounts.models import ApiToken, User
from paca.common import validation
from paca.common.errors import Invalid

A_CENTURY_OF_DAYS = 36_500


@transaction.atomic
def create(
    user: User,
    *,
    name: str,
    scopes: list[str] | None = None,
    lasts: timedelta | None = None,
    by: audit.Acts | None,
) -> tuple[ApiToken, str]:
    """Make a token; the second of the pair is the token itself, which cannot be seen again."""
    scopes = sorted(set(scopes or []))
    if wrong := permission_patterns.unknown(scopes):
        raise Invalid(fields={"scopes": [f"{', '.join(wrong)}: no such right."]})
    secret = knox_settings.TOKEN_PREFIX + crypto.create_token_string()
    token = ApiToken(
        user=user,
        name=name.strip(),
        scopes=scopes,
        expiry=timezone.now() + lasts if lasts is not None else None,
        digest=crypto.hash_token(secret),
        token_key=secret[: CONSTANTS.TOKEN_KEY_LENGTH],
    )
    validation.check(token)
    token.save()
    audit.record("token.created", token, by=by, owner=user.username, scopes=scopes)
    return token, secret


@transaction.atomic
def revoke(token: ApiToken, *, by: audit.Acts | None) -> None:
    """End the token at once."""
    audit.record("token.revoked", token, by=by, owner=token.user.username)
    token.delete()
