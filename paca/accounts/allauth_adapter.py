"""Paca's adapter for django-allauth: audits sign-ins and password changes, logs failed sign-ins."""

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from paca.accounts import audit
from paca.accounts.models import User

logger = logging.getLogger(__name__)
# The only messages of allauth that are shown: the next page does not make these visible by itself.
SHOWN_MESSAGES = {
    "account/messages/password_set.txt": "The password is set.",
    "account/messages/password_changed.txt": "The password is changed. Other devices are signed out.",
}


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc] # allauth has no types
    """allauth's adapter with audit entries, and with the few messages that Paca shows."""

    def post_login(self, request: HttpRequest, user: User, **context: Any) -> HttpResponse:
        audit.record("person.signed_in", user, by=user)
        response: HttpResponse = super().post_login(request, user, **context)
        return response

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("home")

    def add_message(
        self, request: HttpRequest, level: int, message_template: str = "", *_: Any, **__: Any
    ) -> None:
        if message_template in SHOWN_MESSAGES:
            messages.add_message(request, level, SHOWN_MESSAGES[message_template])

    def set_password(self, user: User, password: str) -> None:
        super().set_password(user, password)
        audit.record("person.password_changed", user, by=user)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        logger.warning("a sign-in failed", extra={"username": credentials.get("username", "")})
        super().authentication_failed(request, **credentials)
