"""Resolves names for the gate, and decides which addresses it connects to."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable

from paca.engine.llm.address_check import (
    METADATA_NETWORKS,
    Address,
    AllowedServers,
    is_private,
    plain_address,
)

RESOLVE_SECONDS = 15.0
MAX_ADDRESSES = 4
Resolve = Callable[[str, int], Awaitable[list[Address]]]
TEREDO = ipaddress.IPv6Network("2001::/32")


async def resolve(host: str, port: int) -> list[Address]:
    """The addresses of a host, resolved once. Raises ``OSError`` or ``TimeoutError`` if there are none."""
    async with asyncio.timeout(RESOLVE_SECONDS):
        return await look_up(host, port)


async def look_up(host: str, port: int) -> list[Address]:
    """The addresses of a host, without a limit in time. Raises ``OSError`` if there are none."""
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )
    texts = dict.fromkeys(str(sockaddr[0]).partition("%")[0] for *_, sockaddr in found)
    return [ipaddress.ip_address(text) for text in texts]


def allowed_addresses(
    host: str,
    port: int,
    addresses: Iterable[Address],
    listed: AllowedServers,
    *,
    is_own: Callable[[Address], bool] | None = None,
) -> list[Address]:
    """The addresses to try, in order; none if one of them may not be reached: the name could move between them.

    ``listed``: servers in private networks that the operator allows. ``is_own``: whether an address is one of this
    machine, whose services see a connection to it as one from inside.
    """
    found = list(addresses)
    own = is_own or is_own_address
    # guard: egress-private-addresses
    if not all(_may_reach(host, port, address, listed, own) for address in found):
        return []
    return found[:MAX_ADDRESSES]


def _may_reach(
    host: str,
    port: int,
    address: Address,
    listed: AllowedServers,
    is_own: Callable[[Address], bool],
) -> bool:
    if _is_metadata(address):
        return False
    if listed.is_listed(host, port):
        return True
    # guard: egress-own-addresses
    return not (is_private(address) or address in TEREDO or is_own(address))


def _is_metadata(address: Address) -> bool:
    """Whether a service of a cloud may answer there that hands out credentials. No setting allows them."""
    plain = plain_address(address)
    return plain.is_link_local or any(plain in network for network in METADATA_NETWORKS)


def is_own_address(address: Address) -> bool:
    """Whether the address is one of this machine: only those can be bound.

    Where the machine may bind any address (``ip_nonlocal_bind``), every address counts as its own.
    """
    plain = plain_address(address)
    family = socket.AF_INET if plain.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as bound:
            bound.bind((str(plain), 0))
    except OSError:
        return False
    return True
