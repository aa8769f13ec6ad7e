"""Which addresses a worker may connect to for an MCP server."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from paca.engine.llm.address_check import (
    METADATA_NETWORKS,
    Address,
    AddressRefused,
    AllowedServers,
    is_private,
    plain_address,
)

# Services of clouds that hand out credentials to whoever asks. No setting allows them.
METADATA = (
    *METADATA_NETWORKS,
    ipaddress.ip_network("169.254.0.0/16"),
    ipaddress.ip_network("fe80::/10"),
    ipaddress.ip_network("fd00:ec2::254/128"),
    ipaddress.ip_network("100.100.100.200/32"),
)


# What the operator of this installation allows, whatever the projects want.
_of_operator = AllowedServers()


def allow_private_servers(allowed: AllowedServers) -> None:
    """Let projects allow their MCP servers these private hosts. The default is none."""
    global _of_operator
    _of_operator = allowed


class McpAddressRefused(AddressRefused):
    """A private address that the project or the operator does not allow for this server."""

    def __init__(self, host: str, port: int, next_step: str) -> None:
        OSError.__init__(
            self, f"{host}:{port} is in the private network of this server, and {next_step}"
        )


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """Satisfies what a checked transport asks. ``private``: the project allows what the operator lists; no metadata service."""

    private: bool = False

    def allows(self, host: str, port: int, address: Address) -> bool:
        """Whether a connection to this address, to which the host resolves, is allowed."""
        plain = plain_address(address)
        # guard: mcp-metadata-addresses
        if any(plain.version == network.version and plain in network for network in METADATA):
            return False
        if not is_private(address):
            return True
        # guard: mcp-private-addresses
        if not self.private:
            return False
        # guard: mcp-private-addresses-of-the-operator
        return _of_operator.is_listed(host, port, address)

    def is_listed(self, host: str, port: int, address: Address | None = None) -> bool:
        """No host is listed by its name."""
        return False

    def refusal(self, host: str, port: int) -> AddressRefused:
        """The error for a host without an allowed address."""
        if not self.private:
            return McpAddressRefused(host, port, "its settings do not allow that")
        return McpAddressRefused(
            host, port, f"the operator can allow it: PRIVATE_MCP_SERVERS={host}:{port}"
        )
