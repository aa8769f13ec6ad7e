"""The pages for what cannot be shown: four different looks for four different causes."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from paca.common import request_ids


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Nothing here, or nothing for you: the two look the same on purpose."""
    return render(request, "404.html", status=404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A member without the right for this."""
    return render(request, "403.html", {"reason": str(exception)}, status=403)


def fault(request: HttpRequest) -> HttpResponse:
    """Our own fault: the number under which the log tells more."""
    context = {"request_id": request_ids.current().request_id}
    return render(request, "500.html", context, status=500)


def csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The form was too old, or came from elsewhere."""
    return render(request, "csrf.html", status=403)
