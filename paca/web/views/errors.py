"""The pages for what cannot be shown: four different looks for four different causes."""

import sys

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from paca.common import database_errors, request_ids


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Nothing here, or nothing for you: the two look the same on purpose."""
    return render(request, "404.html", status=404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A member without the right for this."""
    return render(request, "403.html", {"reason": str(exception)}, status=403)


def fault(request: HttpRequest) -> HttpResponse:
    """Our own fault: the number under which the log tells more. A database that is away is none."""
    context: dict[str, object] = {"request_id": request_ids.current().request_id}
    error = sys.exception()
    if isinstance(error, database_errors.UNAVAILABLE_ERRORS):
        context["is_full"] = database_errors.note_disk_full(error)
        # Without the request: who is signed in would be asked of the database.
        content = render_to_string("503.html", context)
        return HttpResponse(content, status=503, headers={"Retry-After": "5"})
    return render(request, "500.html", context, status=500)


def csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The form was too old, or came from elsewhere."""
    return render(request, "csrf.html", status=403)
