"""Django middleware that answers health checks and metrics, whatever ``Host`` they name."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.urls import resolve

from paca.common.log_limits import PROBES


def answer_probes(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """A load balancer asks by address, which is no name of ``ALLOWED_HOSTS``. These answers depend on no host.

    It stands before the middlewares that check the host, and that nothing here needs.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        # guard: web-probes-any-host
        if request.path_info in PROBES:
            view: Callable[[HttpRequest], HttpResponseBase] = resolve(request.path_info).func
            return view(request)
        return get_response(request)

    return middleware
