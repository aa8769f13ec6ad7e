"""The proxies whose ``X-Forwarded-`` headers are believed, by the setting ``FORWARDED_ALLOW_IPS``."""

import ipaddress
from collections.abc import Iterable
from pathlib import Path

from paca.common.errors import ConfigurationError

ROUTES = Path("/proc/net/route")

LOOPBACK = ("127.", "[::1]", "localhost:")


def entries(given: list[str], *, published_at: str) -> list[str]:
    """The entries that may be believed. ``published_at``: where Compose publishes the port, if it does.

    If other machines reach a published port, some versions of Docker show all of them as the gateway.
    """
    if published_at.startswith(LOOPBACK):
        return given
    return [entry for entry in given if entry != "gateway"]


class TrustedProxies:
    """Addresses and networks, as a container: ``address in proxies``. ``*`` contains every address."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Raises ``ConfigurationError`` if an entry is no address, network, ``gateway`` or ``*``."""
        self._entries = list(entries)
        self._everybody = "*" in self._entries
        self._networks = [_network(entry) for entry in self._entries if entry != "*"]

    def __contains__(self, address: object) -> bool:
        if self._everybody:
            return True
        try:
            found = ipaddress.ip_address(str(address).partition("%")[0])
        except ValueError:
            return False
        if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
            found = found.ipv4_mapped
        return any(network is not None and found in network for network in self._networks)

    def __str__(self) -> str:
        return ", ".join(self._entries) or "none"


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    if entry == "gateway":
        gateway = default_gateway()
        return ipaddress.ip_network(gateway) if gateway else None
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        raise ConfigurationError(
            f"FORWARDED_ALLOW_IPS contains {entry!r}, which is no address or network.",
            next_step="list the addresses of your proxies, such as 10.0.0.7 or 10.0.0.0/24, with commas between.",
        ) from None


def default_gateway() -> str:
    """The address through which this host reaches others: in a container its own host; empty if unknown."""
    try:
        rows = [line.split() for line in ROUTES.read_text().splitlines()[1:]]
    except OSError:
        return ""
    for row in rows:
        if len(row) > 2 and row[1] == "00000000" and row[2] != "00000000":
            return str(ipaddress.ip_address(bytes.fromhex(row[2])[::-1]))
    return ""
