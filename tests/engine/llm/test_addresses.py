"""The addresses that model calls connect to: what is refused, what is allowed, and what is proxied."""

import ipaddress
import socket

import httpx2
import pytest

from paca.engine.llm import http_pool, proxies, registry, transport
from paca.engine.llm.address_check import AddressRefused, AllowedServers
from paca.engine.llm.http_pool import new_pool
from paca.engine.llm.model_errors import ModelMisconfigured, Unreachable
from tests.engine.llm.request_builders import chunks_of, reply_of, request_with
from tests.support.model_script import says
from tests.support.tls_proxy import TlsProxy

pytestmark = pytest.mark.anyio
PROXY = "http://user:secret-word@127.0.0.1:9"  # nothing listens there


@pytest.fixture
def nothing_allowed(monkeypatch):
    monkeypatch.setattr(http_pool._allowed, "servers", AllowedServers())


@pytest.fixture
def certificates_not_loaded():
    """The process has not loaded the certificates of the system, nor after the test; also a function that forgets them."""
    forget = transport.certificates_of_the_system.cache_clear
    forget()
    yield forget
    forget()


@pytest.fixture
async def opened():
    """Opens an adapter at a base URL, with a pool that is closed after the test."""
    pools = []

    def open_at(base_url, dialect="openai"):
        pools.append(new_pool())
        return registry.open_llm(
            f"{dialect}/m", base_url=base_url, api_key="sk-test-key", http=pools[-1]
        )

    yield open_at
    for pool in pools:
        await pool.aclose()


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
@pytest.mark.usefixtures("nothing_allowed")
async def test_private_address_is_refused_before_a_connection_and_the_setting_is_named(
    server, opened, dialect
):
    with pytest.raises(ModelMisconfigured, match="PRIVATE_MODEL_SERVERS=127.0.0.1"):
        await chunks_of(opened(server.base_url, dialect), request_with("Hi"))
    assert server.connections == 0


@pytest.mark.usefixtures("nothing_allowed")
async def test_name_that_resolves_to_a_private_address_is_refused(server, monkeypatch):
    """Also if it resolved to a public one before: the address that was checked is the one connected to."""
    backend = transport.CheckedBackend(AllowedServers())
    with pytest.raises(AddressRefused):
        await backend.connect_tcp("localhost", server.port)
    assert server.connections == 0


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("192.168.0.7", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("::1", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("224.0.0.1", False),
        ("::127.0.0.1", False),
        ("::ffff:0:10.0.0.1", False),
        ("64:ff9b::10.0.0.1", False),
        ("64:ff9b::93.184.216.34", True),
        ("64:ff9b:1::1", False),
        ("2002:a00:1::", False),
        ("2002:5db8:d822::1", True),
        ("fec0::1", False),
    ],
)
def test_only_public_addresses_are_allowed_unless_listed(address, allowed):
    found = ipaddress.ip_address(address)
    assert AllowedServers().allows(address, 443, found) == allowed
    assert AllowedServers.parse([f"[{address}]:443"]).allows(address, 443, found)
    assert AllowedServers.parse([f"[{address}]:80"]).allows(address, 443, found) == allowed


def test_listed_name_and_the_word_local_are_allowed_at_their_ports():
    inside, here = ipaddress.ip_address("172.18.0.5"), ipaddress.ip_address("127.0.0.1")
    named = AllowedServers.parse(["ollama:11434"])
    assert named.allows("ollama", 11434, inside)
    assert not named.allows("ollama", 22, inside)
    assert not named.allows("other", 11434, inside)
    local = AllowedServers.parse(["local"])
    assert local.allows("127.0.0.1", 11434, here)
    assert not local.allows("127.0.0.1", 6379, here)
    assert not local.allows("ollama", 11434, inside)


@pytest.mark.parametrize("entry", ["ollama", "host:", ":80", "host:x"])
def test_malformed_entry_of_the_list_is_refused(entry):
    with pytest.raises(ValueError, match="host:port"):
        AllowedServers.parse([entry])


async def test_loopback_is_never_proxied(server, opened, monkeypatch):
    monkeypatch.setenv("http_proxy", PROXY)
    server.script([says("Hello.")])
    assert (await reply_of(opened(f"{server.base_url}/v1"), request_with("Hi"))).text == "Hello."


async def test_error_of_a_proxied_call_names_the_proxy_without_its_password(opened, monkeypatch):
    monkeypatch.setenv("https_proxy", PROXY)

    async def unresolved(host, port):
        raise socket.gaierror

    monkeypatch.setattr(transport, "resolve", unresolved)
    with pytest.raises(Unreachable, match=r"through the proxy 127\.0\.0\.1:9") as caught:
        await chunks_of(opened("https://models.example.org/v1"), request_with("Hi"))
    assert "secret-word" not in caught.value.detail


@pytest.mark.parametrize("host", ["metadata.google.internal", "printer.local.", "intranet"])
async def test_internal_name_that_is_not_known_here_is_asked_of_no_proxy(opened, monkeypatch, host):
    monkeypatch.setenv("https_proxy", PROXY)

    async def unresolved(host, port):
        raise socket.gaierror

    monkeypatch.setattr(transport, "resolve", unresolved)
    with pytest.raises(Unreachable) as caught:
        await chunks_of(opened(f"https://{host}/v1"), request_with("Hi"))
    assert "proxy" not in caught.value.detail


async def test_pool_keeps_the_proxies_that_the_environment_named_when_it_was_made(
    opened, monkeypatch
):
    """Reading the environment took a tenth of a model call."""
    monkeypatch.setenv("https_proxy", PROXY)
    llm = opened("https://93.184.216.34/v1")
    monkeypatch.delenv("https_proxy")
    with pytest.raises(Unreachable, match=r"through the proxy 127\.0\.0\.1:9"):
        await chunks_of(llm, request_with("Hi"))


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_connection_that_the_server_has_closed_is_not_used_again(server, opened, dialect):
    llm = opened(server.base_url if dialect == "anthropic" else f"{server.base_url}/v1", dialect)
    server.script([says("One."), says("Two."), says("Three.")])
    assert (await reply_of(llm, request_with("Hi"))).text == "One."
    assert (await reply_of(llm, request_with("Hi"))).text == "Two."
    assert server.connections == 1
    server.close_connections()
    assert (await reply_of(llm, request_with("Hi"))).text == "Three."
    assert server.connections == 2


def test_proxies_of_the_environment_are_named_without_their_passwords(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert proxies.in_use() == []
    monkeypatch.setenv("https_proxy", PROXY)
    assert proxies.in_use() == ["127.0.0.1:9"]
    monkeypatch.setenv("no_proxy", "*")
    assert proxies.in_use() == []


async def test_certificate_is_checked_against_those_that_the_operator_trusts(
    server, opened, monkeypatch, tmp_path, certificates_not_loaded
):
    """Also though the connection goes to an address, since the host was resolved before."""
    with TlsProxy(tmp_path, server.port) as proxy:
        with pytest.raises(Unreachable, match="TLS"):
            await reply_of(opened(f"https://localhost:{proxy.port}/v1"), request_with("Hi"))
        certificates_not_loaded()
        monkeypatch.setenv("SSL_CERT_FILE", str(proxy.certificate))
        await reply_of(opened(f"https://localhost:{proxy.port}/v1"), request_with("Hi"))


async def test_certificates_of_the_system_are_loaded_once_for_all_connections(
    monkeypatch, certificates_not_loaded
):
    """To load them stops every run of the process for 50 ms."""
    loaded = []
    load = httpx2.create_ssl_context
    monkeypatch.setattr(httpx2, "create_ssl_context", lambda: loaded.append(1) or load())
    for _ in range(2):
        async with new_pool():
            pass
    assert loaded == [1]
