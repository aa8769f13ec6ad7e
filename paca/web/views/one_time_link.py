"""The page of a one-time link: it names the person, and its button signs them in."""

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods

from paca.accounts import known_devices
from paca.accounts import services as accounts
from paca.accounts.services.people import LinkNotUsable


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@csrf_protect
def one_time_link(request: HttpRequest, secret: str) -> HttpResponse:
    """GET only shows the page, because mail programs open links too. POST uses the link up and signs in."""
    try:
        if request.method != "POST":
            person = accounts.get_link_user(secret)
            return render(request, "account/one_time_link.html", {"person": person})
        person = accounts.redeem_link(secret)
    except LinkNotUsable:
        return render(request, "account/one_time_link.html", {"person": None}, status=404)
    login(request, person, backend="django.contrib.auth.backends.ModelBackend")
    response = redirect("home")
    known_devices.remember(request, response, person)
    return response
