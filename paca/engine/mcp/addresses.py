"""Which addresses a worker may connect to for an MCP server."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from paca.engine.llm.address_check import Address, AddressRefused, is_private, plain_address

# Services of clouds that hand out credentials to whoever asks. No setting allows them.
METADATA = (
    ipaddress.ip_network("169.254.0.0/16"),
    ipaddress.ip_network("fe80::/10"),
    ipaddress.ip_network("fd00:ec2::254/128"),
    ipaddress.ip_network("100.100.100.200/32"),
)


class McpAddressRefused(AddressRefused):
    """A private address that the project does not allow for this server."""

    def __init__(self, host: str, port: int) -> None:
        OSError.__init__(
            self,
            f"{host}:{port} is in the private network of this server, and its settings do not allow that",
        )


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """Satisfies what a checked transport asks. ``private``: also the private network, but no metadata service."""

    private: bool = False

    def allows(self, host: str, port: int, address: Address) -> bool:
        """Whether a connection to this address, to which the host resolves, is allowed."""
        plain = plain_address(address)
        # guard: mcp-metadata-addresses
        if any(plain.version == network.version and plain in network for network in METADATA):
            return False
        # guard: mcp-private-addresses
        return self.private or not is_private(address)

    def is_listed(self, host: str, port: int, address: Address | None = None) -> bool:
        """No host is listed by its name."""
        return False

    def refusal(self, host: str, port: int) -> AddressRefused:
        """The error for a host without an allowed address."""
        return McpAddressRefused(host, port)
