"""Paca's adapter for django-allauth: audits sign-ins and password changes, logs failed sign-ins."""

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal import ratelimit
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from paca.accounts import audit, known_devices
from paca.accounts.models import User

logger = logging.getLogger(__name__)
# The only messages of allauth that are shown: the next page does not make these visible by itself.
SHOWN_MESSAGES = {
    "account/messages/password_set.txt": "The password is set.",
    "account/messages/password_changed.txt": "The password is changed. Other devices are signed out.",
}

# Failed sign-ins. All strangers together have a limit for a name too, in case they have many addresses;
# only then must the person use a known device, or wait.
DEVICE_FAILURES = "10/5m/key"
ADDRESS_FAILURES = "10/m/key"
NAME_AND_ADDRESS_FAILURES = "5/5m/key"
NAME_FAILURES = "50/5m/key"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc] # allauth has no types
    """allauth's adapter with audit entries, and with the few messages that Paca shows."""

    def post_login(self, request: HttpRequest, user: User, **context: Any) -> HttpResponse:
        audit.record("person.signed_in", user, by=user)
        response: HttpResponse = super().post_login(request, user, **context)
        known_devices.remember(request, response, user)
        return response

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count this attempt. Whether the name exists makes no difference.

        Raises ``ValidationError`` if there were too many, in place of allauth's own limits: it counts the
        failures of a name over all addresses, so any stranger could lock a person out.
        """
        username = str(credentials.get("username", "")).lower()
        if device := known_devices.device_of(request, username):
            limits = {"device": (device, DEVICE_FAILURES)}
        else:
            address = ratelimit.get_ip(request)
            limits = {
                "address": (address, ADDRESS_FAILURES),
                "name_and_address": (f"{username} {address}", NAME_AND_ADDRESS_FAILURES),
                "name": (username, NAME_FAILURES),
            }
        usage = []
        for action, (key, rate) in limits.items():
            # guard: sign-in-failures
            if not (used := _consume(request, action, key, rate)):
                logger.info("too many sign-ins", extra={"limit": action, "username": username})
                raise self.validation_error("too_many_login_attempts")
            usage += used.usage
        # allauth takes the count back after a success.
        self._login_failed_rl_usage = ratelimit.RateLimitUsage(usage)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("home")

    def add_message(
        self, request: HttpRequest, level: int, message_template: str = "", *_: Any, **__: Any
    ) -> None:
        if message_template in SHOWN_MESSAGES:
            messages.add_message(request, level, SHOWN_MESSAGES[message_template])

    def is_safe_url(self, url: str | None) -> bool:
        """Whether a person may be sent on to this address after signing in."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:  # it has the form of no address at all
            return False

    def set_password(self, user: User, password: str) -> None:
        super().set_password(user, password)
        audit.record("person.password_changed", user, by=user)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        logger.warning("a sign-in failed", extra={"username": credentials.get("username", "")})
        super().authentication_failed(request, **credentials)


def _consume(
    request: HttpRequest, action: str, key: str, rate: str
) -> ratelimit.RateLimitUsage | None:
    """Count one use, or give None if there is none left."""
    config = {action: rate}
    return ratelimit.consume(request, app="paca.sign_in", action=action, config=config, key=key)
