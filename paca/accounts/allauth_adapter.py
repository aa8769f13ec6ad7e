"""What happens when a person signs in or fails to."""

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from paca.accounts import audit
from paca.accounts.models import User

logger = logging.getLogger(__name__)
SAID = {
    "account/messages/password_set.txt": "The password is set.",
    "account/messages/password_changed.txt": "The password is changed. Other devices are signed out.",
}


class Adapter(DefaultAccountAdapter):  # type: ignore[misc] # allauth has no types
    """allauth's, with a trace of who came and who was turned away."""

    def post_login(self, request: HttpRequest, user: User, **context: Any) -> HttpResponse:
        audit.record("person.signed_in", user, by=user)
        response: HttpResponse = super().post_login(request, user, **context)
        return response

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("home")

    def add_message(
        self, request: HttpRequest, level: int, message_template: str = "", *_: Any, **__: Any
    ) -> None:
        """Only what the next page does not show by itself."""
        if message_template in SAID:
            messages.add_message(request, level, SAID[message_template])

    def set_password(self, user: User, password: str) -> None:
        super().set_password(user, password)
        audit.record("person.password_changed", user, by=user)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        logger.warning("a sign-in failed", extra={"username": credentials.get("username", "")})
        super().authentication_failed(request, **credentials)
