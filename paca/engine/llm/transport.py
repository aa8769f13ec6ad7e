"""Connections to model servers: to the address that was checked, or through the proxy of the environment."""

from __future__ import annotations

import asyncio
import ipaddress
import select
import socket
import ssl
from collections.abc import Iterable
from functools import cache
from typing import Any

import httpcore2
import httpx2

from paca.engine.llm import call_recording, proxies
from paca.engine.llm.address_check import (
    Address,
    ServerAddresses,
    is_internal_name,
    is_private,
    literal,
)
from paca.engine.llm.recorded_exchange import send_recorded

LOOPBACK_NAMES = ("localhost", "localhost.localdomain")


class CheckedBackend(httpcore2.AnyIOBackend):
    """Resolves a host once, checks its addresses and connects to a checked one."""

    def __init__(self, allowed: ServerAddresses) -> None:
        self._allowed = allowed

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first checked address that answers. Raises ``AddressRefused`` if there is none."""
        addresses = await resolve(host, port)
        checked = [each for each in addresses if self._allowed.allows(host, port, each)]
        if not checked:
            raise self._allowed.refusal(host, port)
        last = len(checked) - 1
        for number, address in enumerate(checked):
            try:
                return PooledStream(
                    await super().connect_tcp(
                        str(address), port, timeout, local_address, socket_options
                    )
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if number == last:
                    raise
        raise self._allowed.refusal(host, port)


class PooledStream(httpcore2.AsyncNetworkStream):
    """A connection that knows its socket.

    At each request the pool asks of all its idle connections whether the server has closed them. The
    library looks the socket up anew each time, which with fifty runs costs more than the request.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._socket: socket.socket = stream.get_extra_info("socket")
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """The next bytes; none at the end."""
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Send these bytes."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's interface
    ) -> httpcore2.AsyncNetworkStream:
        """The same connection with TLS."""
        return PooledStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """A fact about the connection, by the library's name of it."""
        if info == "is_readable":
            # A closed socket counts as readable, as in the library: the next read tells the end.
            return self._socket.fileno() < 0 or bool(self._poll.poll(0))
        return self._stream.get_extra_info(info)


async def resolve(host: str, port: int) -> list[Address]:
    """The addresses of a host. Raises ``socket.gaierror`` if it has none."""
    if (address := literal(host)) is not None:
        return [address]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(
        dict.fromkeys(ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found)
    )


@cache
def certificates_of_the_system() -> ssl.SSLContext:
    """Those of the system, or of SSL_CERT_FILE and SSL_CERT_DIR. To load them takes the event loop 50 ms."""
    return httpx2.create_ssl_context()


class ModelTransport(httpx2.AsyncBaseTransport):
    """Sends each request directly, or through the proxy that the environment names for its host.

    Loopback and the private servers that the operator listed are never proxied. The environment is read
    once, like every setting.
    """

    def __init__(
        self, allowed: ServerAddresses, limits: httpx2.Limits, tls: ssl.SSLContext | None = None
    ) -> None:
        """``tls`` says which certificates count; without it those of the system."""
        self._allowed = allowed
        self._limits = limits
        self._verify = tls or certificates_of_the_system()
        self._proxies = proxies.of_environment()
        self._direct = httpx2.AsyncHTTPTransport(verify=self._verify, limits=limits)
        self._direct._pool._network_backend = CheckedBackend(allowed)
        self._proxied: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request, and record it if its call is traced."""
        recording = call_recording.current()
        if recording is None:
            return await self._send(request)
        return await send_recorded(request, self._send, recording)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request. An error that came through a proxy has a note that names it."""
        proxy = await self._proxy_for(request.url)
        if not proxy:
            return await self._direct.handle_async_request(request)
        if proxy not in self._proxied:
            self._proxied[proxy] = httpx2.AsyncHTTPTransport(
                verify=self._verify, limits=self._limits, proxy=httpx2.Proxy(proxy)
            )
        try:
            return await self._proxied[proxy].handle_async_request(request)
        except httpx2.TransportError as error:
            error.add_note(f"through the proxy {proxies.name_of(proxy)}")
            raise

    async def aclose(self) -> None:
        for transport in (self._direct, *self._proxied.values()):
            await transport.aclose()

    async def _proxy_for(self, url: httpx2.URL) -> str:
        """The proxy for this address; empty for a direct connection."""
        proxy = proxies.proxy_for(url.scheme, url.host, self._proxies)
        port = url.port or (443 if url.scheme == "https" else 80)
        # guard: engine-loopback-is-not-proxied
        if not proxy or await self._is_near(url.host, port):
            return ""
        return proxy

    async def _is_near(self, host: str, port: int) -> bool:
        """Whether the host is this machine or in a private network: a proxy must not reach it for anybody."""
        if host.lower() in LOOPBACK_NAMES or self._allowed.is_listed(host, port):
            return True
        try:
            addresses = await resolve(host, port)
        except OSError:
            # Only the proxy knows this name. It may know those of its own network too.
            # guard: engine-internal-names-are-not-proxied
            return is_internal_name(host)
        return any(map(is_private, addresses))
