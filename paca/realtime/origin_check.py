"""Refuses a handshake that another site's page makes with the visitor's cookies."""

from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from paca.realtime.handshake import Scope, has_header, header, query

Application = Callable[[Scope, Any, Any], Awaitable[None]]
DEFAULT_PORTS = {"http": "80", "https": "443"}


class OriginGuard:
    """Stands outermost, before anything is looked up.

    Browsers always name the origin of the page, and always send cookies along. So an origin, when
    there is one, must be ours; and whoever names none is no browser and must bring a token or a
    ticket, which no other site can.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if self._welcome(scope):
            await self.application(scope, receive, send)
            return
        await receive()
        await send({"type": "websocket.close"})  # before it was accepted: HTTP 403

    def _welcome(self, scope: Scope) -> bool:
        if has_header(scope, b"origin"):
            # guard: realtime-origin
            return is_ours(header(scope, b"origin"), host=header(scope, b"host"))
        return has_header(scope, b"authorization") or bool(query(scope, "ticket"))


def is_ours(origin: str, *, host: str) -> bool:
    """Whether a page of this origin is one of ours, seen from a request to ``host``.

    The port counts: cookies do not tell ports apart, but another program on this machine is
    another site.
    """
    if _is_trusted(origin.lower()):
        return True
    try:
        parts = urlsplit(origin.lower())
    except ValueError:
        return False
    if parts.scheme not in DEFAULT_PORTS or not parts.netloc or parts.path or "@" in parts.netloc:
        return False
    domain, port = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    origin_domain, origin_port = split_domain_port(parts.netloc)
    default = DEFAULT_PORTS[parts.scheme]
    return (origin_domain, origin_port or default) == (domain, port or default)


def _is_trusted(origin: str) -> bool:
    """Whether the operator has named it, as for Django's own check of forms."""
    return any(
        origin == trusted or ("*" in trusted and fnmatchcase(origin, trusted))
        for trusted in settings.CSRF_TRUSTED_ORIGINS
    )
