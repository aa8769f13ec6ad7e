"""The error pages: not found, forbidden, server error and failed CSRF check."""

import sys

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from paca.common import database_errors, request_ids


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


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: the CSRF token of the form is missing, too old, or from another site."""
    return render(request, "csrf.html", status=403)
