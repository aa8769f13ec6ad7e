"""How many requests a minute the API takes from one token, person or address."""

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

if TYPE_CHECKING:
    # DRF's views import this module while they are being imported themselves.
    from rest_framework.views import APIView


class RequestsPerMinute(SimpleRateThrottle):
    """So many requests a minute for each token, each signed-in person, each unknown address."""

    scope = "api"

    def get_cache_key(self, request: Request, view: "APIView") -> str:
        if request.auth is not None:
            who = f"token:{request.auth.pk}"
        elif request.user.is_authenticated:
            who = f"user:{request.user.pk}"
        else:
            who = f"address:{self.get_ident(request)}"
        return f"throttle:{self.scope}:{who}"
