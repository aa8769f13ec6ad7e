"""ASGI middleware that believes trusted proxies about the person's address and the scheme."""

import ipaddress
import logging
from collections.abc import Awaitable, Callable, Container
from typing import Any

logger = logging.getLogger(__name__)

Application = Callable[[Any, Any, Any], Awaitable[None]]
MAX_REPORTED = 5


class ForwardedHeaders:
    """Sets ``client`` and ``scheme`` from ``X-Forwarded-For`` and ``X-Forwarded-Proto``.

    Both may be lists, because each proxy appends to the first. The scheme is the first entry: what the
    person's browser used. The address is the last one that is not a trusted proxy itself, because
    anybody can send entries before it.

    ``on_ignored``: called with the address of each peer whose headers are ignored, a few times.
    """

    def __init__(
        self,
        application: Application,
        *,
        trusted: Container[str],
        on_ignored: Callable[[str], object] = lambda peer: None,
    ) -> None:
        self._application = application
        self._trusted = trusted
        self._on_ignored = on_ignored
        self._reported: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        peer = (scope.get("client") or ("",))[0]
        forwarded = _values(scope, b"x-forwarded-for")
        schemes = _values(scope, b"x-forwarded-proto")
        # guard: web-forwarded-headers
        if _is_unix_socket(scope) or peer in self._trusted:
            scope = {**scope, **self._believed(forwarded, schemes, scope["type"])}
        elif peer and (forwarded or schemes):
            self._report(peer)
        await self._application(scope, receive, send)

    def _believed(self, forwarded: list[str], schemes: list[str], kind: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if schemes and (scheme := schemes[0].lower()) in {"http", "https", "ws", "wss"}:
            is_secure = scheme in {"https", "wss"}
            plain = "http" if kind == "http" else "ws"
            found["scheme"] = plain + "s" * is_secure
        if forwarded:
            addresses = [_address(each) for each in forwarded]
            strangers = [address for address in addresses if address not in self._trusted]
            if client := (strangers or addresses[:1])[-1]:
                found["client"] = [client, 0]
        return found

    def _report(self, peer: str) -> None:
        """Headers of a stranger, or of a proxy that is not listed; the operator should know."""
        if peer in self._reported or len(self._reported) >= MAX_REPORTED:
            return
        self._reported.add(peer)
        logger.warning(
            "X-Forwarded headers are ignored; if this is your proxy, set FORWARDED_ALLOW_IPS",
            extra={"peer": peer},
        )
        self._on_ignored(peer)


def _values(scope: Any, name: bytes) -> list[str]:
    """The entries of a header that may be a list, and may be given several times."""
    found = b",".join(value for key, value in scope["headers"] if key == name)
    return [entry.strip() for entry in found.decode("latin-1").split(",") if entry.strip()]


def _is_unix_socket(scope: Any) -> bool:
    """Whether the server listens on a Unix socket, which only a proxy on this machine reaches."""
    server = scope.get("server")
    return not scope.get("client") and (not server or server[1] is None)


def _address(entry: str) -> str:
    """The address in an entry, which may have a port; empty if it is none."""
    host = entry
    if entry.startswith("["):
        host = entry[1:].partition("]")[0]
    elif entry.count(":") == 1:
        host = entry.partition(":")[0]
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return ""
