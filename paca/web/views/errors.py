"""The error pages: bad request, not found, forbidden, server error and failed CSRF check."""

import sys

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from paca.common import database_errors, request_ids

MAX_SHOWN = 200  # characters of a header on an error page


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404, also for pages that this person may not see: the two look the same on purpose."""
    return render(request, "404.html", status=404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the role of the member lacks a permission."""
    return render(request, "403.html", {"reason": str(exception)}, status=403)


def server_error(request: HttpRequest) -> HttpResponse:
    """500 with the request id that stands in the log, or 503 if the database does not answer."""
    context: dict[str, object] = {"request_id": request_ids.current().request_id}
    error = sys.exception()
    if isinstance(error, database_errors.UNAVAILABLE_ERRORS):
        context["is_full"] = database_errors.note_disk_full(error)
        # Rendered without the request, whose context processors would query the database for the user.
        content = render_to_string("503.html", context)
        return HttpResponse(content, status=503, headers={"Retry-After": "5"})
    return render(request, "500.html", context, status=500)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: the request has a form that no page of ours sends, such as an unknown host name."""
    context = {"host": ""}
    if isinstance(exception, DisallowedHost):
        context["host"] = request.META.get("HTTP_HOST", "")[:MAX_SHOWN]
    # Without the request, whose context processors would fail for the same reason.
    return HttpResponse(render_to_string("400.html", context), status=400)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: the CSRF token of the form is missing, too old, or from another site.

    Behind a proxy that changes ``Host``, every form looks as if it came from another site.
    """
    origin = request.headers.get("Origin", "")[:MAX_SHOWN]
    address = f"{request.scheme}://{request.get_host()}"
    context = {"origin": origin, "address": address} if origin and origin != address else {}
    return render(request, "csrf.html", context, status=403)
