"""Throttles the API: how many requests a minute one token, person or IP address may make."""

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

if TYPE_CHECKING:
    # DRF's views import this module while they are being imported themselves.
    from rest_framework.views import APIView


class RequestsPerMinute(SimpleRateThrottle):
    """Counts requests by token, by signed-in person, or else by IP address."""

    scope = "api"

    def get_cache_key(self, request: Request, view: "APIView") -> str:
        if request.auth is not None:
            client = f"token:{request.auth.pk}"
        elif request.user.is_authenticated:
            client = f"user:{request.user.pk}"
        else:
            client = f"address:{self.get_ident(request)}"
        return f"throttle:{self.scope}:{client}"
