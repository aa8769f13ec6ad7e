"""Which addresses model calls may connect to: public ones, and private ones that the operator has listed.

Anybody who may change an agent can set its base URL. Without this check they could reach every server in
the network of this one.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# ``local`` in the setting: model servers on this machine at their usual ports.
LOCAL = "local"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "host.docker.internal")
LOCAL_PORTS = (11434, 8000, 8080, 1234, 4000, 5000, 30000)
ANY_PORT = 0
# Names of networks, which no public server has. Clouds name their metadata services so.
INTERNAL_ENDS = (".localhost", ".local", ".internal")
# Addresses of these networks hold an address of the old network in bits 0 to 31, counted after this shift.
# A gateway in the network of this server would carry a connection there.
EMBEDDING_NETWORKS = (
    (ipaddress.IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (ipaddress.IPv6Network("::/96"), 0),  # compatible
    (ipaddress.IPv6Network("::ffff:0:0:0/96"), 0),  # translated
    (ipaddress.IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (ipaddress.IPv6Network("2002::/16"), 80),  # 6to4
)
# Services of clouds hand out secrets of a machine there, beside those at link-local addresses.
METADATA_NETWORKS = (
    ipaddress.IPv4Network("168.63.129.16/32"),  # Azure; the address is a public one
    ipaddress.IPv4Network("192.0.0.0/24"),  # Oracle
)
# Private networks that the standard library takes for public ones.
OTHER_PRIVATE_NETWORKS = (
    *METADATA_NETWORKS,
    ipaddress.IPv6Network("64:ff9b:1::/48"),  # NAT64 with an own prefix
    ipaddress.IPv6Network("fec0::/10"),  # site-local
)


class ServerAddresses(Protocol):
    """Which addresses a transport may connect to."""

    def allows(self, host: str, port: int, address: Address) -> bool:
        """Whether a connection to this address, to which the host resolves, is allowed."""
        ...

    def is_listed(self, host: str, port: int, address: Address | None = None) -> bool:
        """Whether this host is one that no proxy stands before."""
        ...

    def refusal(self, host: str, port: int) -> "AddressRefused":
        """The error for a host without an allowed address."""
        ...


class AddressRefused(OSError):
    """A private address that the operator has not listed."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"it is in the private network of this server. If {host}:{port} is a model server, the operator can "
            f"allow it: PRIVATE_MODEL_SERVERS={host}:{port}"
            + (f", or {LOCAL} for the usual ports on this machine." if host in LOCAL_HOSTS else ".")
        )


@dataclass(frozen=True, slots=True)
class AllowedServers:
    """The private servers that model calls may connect to. ``listed`` are hosts with a port, or any port.

    ``local``: also model servers on this machine at their usual ports.
    """

    listed: frozenset[tuple[str, int]] = frozenset()
    local: bool = False

    @classmethod
    def parse(cls, entries: Iterable[str]) -> "AllowedServers":
        """From entries such as ``ollama:11434``, ``10.0.0.7:*``, ``[::1]:8000`` and ``local``.

        Raises ``ValueError`` for an entry without a port.
        """
        listed, local = set(), False
        for entry in entries:
            if entry == LOCAL:
                local = True
                continue
            host, colon, port = entry.rpartition(":")
            if not colon or not host or not (port == "*" or port.isdigit()):
                raise ValueError(f"{entry} is not host:port, host:* or {LOCAL}")
            listed.add((host.strip("[]").lower(), ANY_PORT if port == "*" else int(port)))
        return cls(frozenset(listed), local)

    def is_listed(self, host: str, port: int, address: Address | None = None) -> bool:
        """Whether the operator has listed this host by its name or address."""
        names = {host.strip("[]").lower(), str(address)}
        return any((name, p) in self.listed for name in names for p in (port, ANY_PORT))

    def refusal(self, host: str, port: int) -> AddressRefused:
        """The error for a host without an allowed address."""
        return AddressRefused(host, port)

    def allows(self, host: str, port: int, address: Address) -> bool:
        """Whether a connection to this address, to which the host resolves, is allowed."""
        if not is_private(address):
            return True
        if self.local and port in LOCAL_PORTS and host.strip("[]").lower() in LOCAL_HOSTS:
            return True
        # guard: engine-private-addresses
        return self.is_listed(host, port, address)


def is_private(address: Address) -> bool:
    """Whether the address is anything but one of the public network."""
    embedded = _embedded(address) if isinstance(address, ipaddress.IPv6Address) else None
    # guard: engine-embedded-addresses
    if embedded is not None:
        return is_private(embedded)
    if any(address in network for network in OTHER_PRIVATE_NETWORKS):
        return True
    return not address.is_global or address.is_multicast


def is_internal_name(host: str) -> bool:
    """Whether a name without a public address means this machine or something in a network around it."""
    name = host.lower().rstrip(".")
    if literal(name) is not None:
        return False
    return "." not in name or name.endswith(INTERNAL_ENDS)


def plain_address(address: Address) -> Address:
    """The address of the old network that the address holds, else the address itself."""
    embedded = _embedded(address) if isinstance(address, ipaddress.IPv6Address) else None
    return embedded or address


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The address of the old network to which a gateway would carry a connection to this one."""
    for network, shift in EMBEDDING_NETWORKS:
        if address in network:
            return ipaddress.IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
    return None


def literal(host: str) -> Address | None:
    """The address that a host is written as; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
