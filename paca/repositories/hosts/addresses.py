"""Which addresses Paca may connect to for a git server."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.conf import settings

from paca.engine.llm.address_check import (
    Address,
    AddressRefused,
    AllowedServers,
    is_private,
    plain_address,
)
from paca.engine.mcp.addresses import METADATA
from paca.repositories.models.addresses import DEFAULT_PORTS


class GitAddressRefused(AddressRefused):
    """A private address that the operator does not allow for git servers."""

    def __init__(self, host: str, port: int) -> None:
        OSError.__init__(
            self,
            f"{host}:{port} is in the private network of this server. The operator can allow it:"
            f" PRIVATE_GIT_SERVERS={host}:{port}",
        )


def allowed_of_operator() -> AllowedServers:
    """The servers in private networks that the operator allows. Raises ``ValueError`` for a malformed entry."""
    return AllowedServers.parse(settings.PRIVATE_GIT_SERVERS)


@dataclass(frozen=True, slots=True)
class GitServerAddresses:
    """Satisfies what a checked transport asks: public addresses, and private ones that the operator lists."""

    listed: AllowedServers = field(default_factory=allowed_of_operator)

    def allows(self, host: str, port: int, address: Address) -> bool:
        """Whether a connection to this address, to which the host resolves, is allowed."""
        plain = plain_address(address)
        # guard: git-metadata-addresses
        if any(plain.version == network.version and plain in network for network in METADATA):
            return False
        if not is_private(address):
            return True
        # guard: git-private-addresses
        return self.listed.is_listed(host, port, address)

    def is_listed(self, host: str, port: int, address: Address | None = None) -> bool:
        """Whether no proxy stands before this host."""
        return self.listed.is_listed(host, port, address)

    def refusal(self, host: str, port: int) -> AddressRefused:
        """The error for a host without an allowed address."""
        return GitAddressRefused(host, port)


def may_be_plain(url: str) -> bool:
    """Whether a checked address may be reached without TLS: only a server that the operator has listed."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]
    return parts.scheme == "https" or allowed_of_operator().is_listed(host, port)
