"""A worker connects to public addresses only, unless the project allows private ones; never to metadata services."""

import ipaddress

import pytest

from paca.engine.llm.address_check import AllowedServers
from paca.engine.mcp import addresses
from paca.engine.mcp.addresses import AllowedAddresses

METADATA = ("169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1")
METADATA += ("fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192")
PRIVATE = (
    "127.0.0.1",
    "::1",
    "10.0.0.7",
    "192.168.1.1",
    "172.16.0.1",
    "fd12::1",
    "::ffff:10.0.0.1",
    "0.0.0.0",
)


@pytest.mark.parametrize("address", [*METADATA, *PRIVATE])
def test_private_addresses_are_refused(address):
    assert not AllowedAddresses().allows("host", 80, ipaddress.ip_address(address))


@pytest.fixture
def of_operator(monkeypatch):
    """The operator lists this host at port 80."""
    monkeypatch.setattr(addresses, "_of_operator", AllowedServers.parse(["host:80"]))


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_allowed_where_project_and_operator_say_so(address, of_operator):
    private = ipaddress.ip_address(address)
    assert AllowedAddresses(private=True).allows("host", 80, private)
    assert not AllowedAddresses(private=True).allows("host", 81, private)
    assert not AllowedAddresses(private=False).allows("host", 80, private)


def test_a_refusal_names_the_setting_that_is_missing():
    assert "its settings do not allow" in str(AllowedAddresses().refusal("host", 80))
    assert "PRIVATE_MCP_SERVERS=host:80" in str(AllowedAddresses(private=True).refusal("host", 80))


@pytest.mark.parametrize("address", METADATA)
def test_metadata_services_are_never_allowed(address, of_operator):
    assert not AllowedAddresses(private=True).allows("host", 80, ipaddress.ip_address(address))


@pytest.mark.parametrize("private", [False, True])
def test_public_addresses_are_allowed(private):
    assert AllowedAddresses(private).allows("host", 80, ipaddress.ip_address("93.184.216.34"))
