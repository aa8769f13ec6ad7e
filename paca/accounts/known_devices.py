"""Devices on which a person has signed in before. Guesses of strangers do not lock them out."""

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from paca.accounts.models import User
from paca.installation_keys import cookie_name

COOKIE_NAME = cookie_name("device", settings.SECRET_KEY)
LIFETIME_SECONDS = 365 * 86_400
SALT = "paca.known_device"


def remember(request: HttpRequest, response: HttpResponse, person: User) -> None:
    """Mark this browser as a device of the person, who has just signed in.

    The mark signs nobody in. A browser is a device of the last person who signed in there.
    """
    device = device_of(request, person.username) or secrets.token_urlsafe(12)
    response.set_cookie(
        COOKIE_NAME,
        signing.dumps([person.username.lower(), device], salt=SALT),
        max_age=LIFETIME_SECONDS,
        path="/accounts/",
        httponly=True,
        samesite="Lax",
    )


def device_of(request: HttpRequest, username: str) -> str:
    """The id of this device if the person of this name has signed in on it, else an empty text."""
    try:
        name, device = signing.loads(
            request.COOKIES.get(COOKIE_NAME, ""), salt=SALT, max_age=LIFETIME_SECONDS
        )
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(device) if name == username.lower() else ""
