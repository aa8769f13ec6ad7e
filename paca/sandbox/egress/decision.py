"""Decides which requests of a sandbox the gate carries out. Pure: it resolves no name and opens no connection."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from paca.common.host_names import is_host_name
from paca.common.network_policy import EgressPolicy
from paca.engine.llm.address_check import AllowedServers
from paca.sandbox.egress.reasons import Reason
from paca.sandbox.egress.request_head import Request

HTTP_PORT, HTTPS_PORT, MAX_PORT = 80, 443, 65_535
AUTHORITY = re.compile(r"([^:\[\]/@?#\\]+|\[[0-9A-Fa-f:.%]*\])(?::([0-9]{1,5}))?\Z", re.ASCII)
ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(/[^#]*|\?[^#]*)?\Z", re.ASCII)
SAFE_METHODS = ("GET", "HEAD")
# They concern this connection only, or would let the server read the request as another one.
HOP_HEADERS = frozenset(
    {
        *(
            "connection",
            "keep-alive",
            "proxy-connection",
            "proxy-authenticate",
            "proxy-authorization",
        ),
        *("te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "expect", "host"),
        *(
            "forwarded",
            "via",
            "content-length",
            "x-forwarded-host",
            "x-forwarded-for",
            "x-forwarded-proto",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """A connection to make, if the addresses of the host allow it.

    ``head``: what the server gets first; empty for a tunnel, where the client sends all.
    """

    host: str
    port: int
    head: bytes = b""

    @property
    def is_tunnel(self) -> bool:
        """Whether bytes pass as they are, after a check of the first ones."""
        return not self.head


@dataclass(frozen=True, slots=True)
class Denied:
    """A request that is refused. ``host`` as the client wrote it, ``port`` 0 if it is unknown."""

    reason: Reason
    host: str = ""
    port: int = 0


def decide(request: Request, policy: EgressPolicy) -> Allowed | Denied:
    """Whether a request may be carried out: a tunnel by CONNECT for TLS, or GET and HEAD of an http:// address."""
    if request.method == "CONNECT":
        return _decide_tunnel(request, policy)
    return _decide_plain(request, policy)


def _decide_tunnel(request: Request, policy: EgressPolicy) -> Allowed | Denied:
    found = _authority(request.target)
    if found is None or found[1] is None:
        return Denied(Reason.MALFORMED, request.target)
    host, port = found[0], found[1]
    # guard: egress-tunnels-to-the-port-of-tls
    if port != HTTPS_PORT and not _is_listed(host, port, policy):
        return Denied(Reason.PORT, host, port)
    sent = request.header("host")
    # Some programs send the host without its port.
    if sent is not None and _authority(sent) not in ((host, port), (host, None)):
        return Denied(Reason.HOST_DIFFERS, host, port)
    if _has_body(request):
        return Denied(Reason.MALFORMED, host, port)
    return _host_problem(host, port, policy) or Allowed(host, port)


def _decide_plain(request: Request, policy: EgressPolicy) -> Allowed | Denied:
    address = ABSOLUTE.match(request.target)
    if address is None:
        return Denied(Reason.MALFORMED)
    scheme, authority, path = address[1].lower(), address[2], address[3] or "/"
    found = _authority(authority)
    if found is None:
        return Denied(Reason.MALFORMED, authority)
    host, port = found[0], HTTP_PORT if found[1] is None else found[1]
    if scheme != "http":
        return Denied(Reason.SCHEME, host, port)
    # guard: egress-plain-requests-to-the-port-of-http
    if port != HTTP_PORT and not _is_listed(host, port, policy):
        return Denied(Reason.PORT, host, port)
    sent = _authority(request.header("host") or "")
    # guard: egress-host-as-in-the-address
    if sent != (host, port) and (sent != (host, None) or port != HTTP_PORT):
        return Denied(Reason.HOST_DIFFERS, host, port)
    # guard: egress-plain-requests-only-read
    if request.method not in SAFE_METHODS or _has_body(request):
        return Denied(Reason.METHOD, host, port)
    return _host_problem(host, port, policy) or Allowed(
        host, port, _head(request, host, port, path)
    )


def listed_servers(host: str, policy: EgressPolicy) -> AllowedServers:
    """The servers in private networks that the operator allows, if the project lists the host."""
    # guard: egress-private-servers-that-the-project-lists
    return AllowedServers.parse(policy.private if policy.lists_host(host) else ())


def _authority(text: str) -> tuple[str, int | None] | None:
    """The host in small letters and the port of ``host:port``; None if the text is no such thing, as with a user."""
    found = AUTHORITY.match(text)
    if found is None:
        return None
    return found[1].lower(), int(found[2]) if found[2] else None


def _has_body(request: Request) -> bool:
    length = request.header("content-length")
    return request.header("transfer-encoding") is not None or length not in (None, "0")


def _host_problem(host: str, port: int, policy: EgressPolicy) -> Denied | None:
    if is_address(host):
        return Denied(Reason.ADDRESS, host, port)
    if not is_host_name(host):
        return Denied(Reason.NAME, host, port)
    if policy.allows_host(host):
        return None
    closed = policy.network == "none"
    return Denied(Reason.CLOSED if closed else Reason.NOT_LISTED, host, port)


def is_address(host: str) -> bool:
    """Whether the host is written as an address, in the usual form or in one that resolvers read as a number."""
    last = host.rstrip(".").rpartition(".")[2]
    if host.startswith("[") or last.isdigit() or re.match(r"0x[0-9a-f]*\Z", last):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_listed(host: str, port: int, policy: EgressPolicy) -> bool:
    """Whether the operator allows this port of a private server."""
    return 0 < port <= MAX_PORT and listed_servers(host, policy).is_listed(host, port)


def _head(request: Request, host: str, port: int, path: str) -> bytes:
    """The head for the server, written anew. It asks for an end after the answer: no second request follows."""
    named = {name.strip().lower() for name in (request.header("connection") or "").split(",")}
    kept = [
        f"{name}: {value}"
        for name, value in request.headers
        if name not in HOP_HEADERS and name not in named
    ]
    target = path if path.startswith("/") else f"/{path}"
    sent_host = host if port == HTTP_PORT else f"{host}:{port}"
    begin = f"{request.method} {target} HTTP/1.1"
    lines = [begin, f"Host: {sent_host}", "Connection: close", *kept]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")
