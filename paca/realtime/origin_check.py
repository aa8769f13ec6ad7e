"""Rejects a handshake that a page of another site makes with the person's cookies."""

from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from paca.realtime.handshake import Scope, has_header, header, query_parameter

Application = Callable[[Scope, Any, Any], Awaitable[None]]
DEFAULT_PORTS = {"http": "80", "https": "443"}


class OriginGuard:
    """ASGI middleware for sockets. It runs before anything is looked up.

    A browser always sends the page's origin, and always sends cookies. So an origin, if there is
    one, must be ours. A client that sends no origin is not a browser: it must send a token or a
    ticket, which another site does not have.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if self._is_allowed(scope):
            await self.application(scope, receive, send)
            return
        await receive()
        await send({"type": "websocket.close"})  # before it was accepted: HTTP 403

    def _is_allowed(self, scope: Scope) -> bool:
        if has_header(scope, b"origin"):
            # guard: realtime-origin
            return is_ours(header(scope, b"origin"), host=header(scope, b"host"))
        return has_header(scope, b"authorization") or bool(query_parameter(scope, "ticket"))


def is_ours(origin: str, *, host: str) -> bool:
    """Whether a page of this origin belongs to this installation, for a request to ``host``.

    The port counts: cookies ignore ports, but another program on this machine is another site.
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
    """Whether ``CSRF_TRUSTED_ORIGINS`` names the origin, as in Django's own check of forms."""
    return any(
        origin == trusted or ("*" in trusted and fnmatchcase(origin, trusted))
        for trusted in settings.CSRF_TRUSTED_ORIGINS
    )
