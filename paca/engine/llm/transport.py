"""Connections to model servers: to the address that was checked, or through the proxy of the environment."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2

from paca.engine.llm import proxies
from paca.engine.llm.address_check import (
    Address,
    AddressRefused,
    AllowedServers,
    is_private,
    literal,
)

LOOPBACK_NAMES = ("localhost", "localhost.localdomain")


class CheckedBackend(httpcore2.AnyIOBackend):
    """Resolves a host once, checks its addresses and connects to a checked one."""

    def __init__(self, allowed: AllowedServers) -> None:
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
            raise AddressRefused(host, port)
        last = len(checked) - 1
        for number, address in enumerate(checked):
            try:
                return await super().connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if number == last:
                    raise
        raise AddressRefused(host, port)


async def resolve(host: str, port: int) -> list[Address]:
    """The addresses of a host. Raises ``socket.gaierror`` if it has none."""
    if (address := literal(host)) is not None:
        return [address]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(
        dict.fromkeys(ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found)
    )


class ModelTransport(httpx2.AsyncBaseTransport):
    """Sends each request directly, or through the proxy that the environment names for its host.

    Loopback and the private servers that the operator listed are never proxied.
    """

    def __init__(self, allowed: AllowedServers, limits: httpx2.Limits) -> None:
        self._allowed = allowed
        self._limits = limits
        # Of the environment, a transport takes only SSL_CERT_FILE and SSL_CERT_DIR.
        self._direct = httpx2.AsyncHTTPTransport(limits=limits)
        self._direct._pool._network_backend = CheckedBackend(allowed)
        self._proxied: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request. An error that came through a proxy has a note that names it."""
        proxy = await self._proxy_for(request.url)
        if not proxy:
            return await self._direct.handle_async_request(request)
        if proxy not in self._proxied:
            self._proxied[proxy] = httpx2.AsyncHTTPTransport(
                limits=self._limits, proxy=httpx2.Proxy(proxy)
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
        proxy = proxies.proxy_for(url.scheme, url.host)
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
            return False  # only the proxy knows this name
        return any(map(is_private, addresses))
