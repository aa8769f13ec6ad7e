"""What trusted proxies say about the person: address and scheme, for requests and sockets alike."""

import asyncio
from typing import Any

import pytest

from paca.common.errors import ConfigurationError
from paca.common.trusted_proxies import TrustedProxies, entries
from paca.web.middleware.forwarded_headers import ForwardedHeaders

PROXY = "10.0.0.1"
STRANGER = "198.51.100.9"


def seen(peer: str | None, *headers: tuple[str, str], kind: str = "http") -> tuple[str, str]:
    """Scheme and address that the application sees."""
    found: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        found.append(scope)

    scope = {
        "type": kind,
        "scheme": "http" if kind == "http" else "ws",
        "client": (peer, 1) if peer else None,
        "server": ("127.0.0.1", 8000) if peer else ("/run/paca.sock", None),
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    forwarded = ForwardedHeaders(application, trusted=TrustedProxies([PROXY, "10.1.0.0/16"]))
    asyncio.run(forwarded(scope, None, None))
    return found[0]["scheme"], (found[0]["client"] or ("",))[0]


@pytest.mark.parametrize("value", ["https", "HTTPS", "https,http", "https, http", "wss"])
def test_scheme_is_the_first_one_in_any_case(value: str):
    assert seen(PROXY, ("x-forwarded-proto", value)) == ("https", PROXY)
    assert seen(PROXY, ("x-forwarded-proto", value), kind="websocket") == ("wss", PROXY)


@pytest.mark.parametrize("value", ["http", "http,https", "ftp", "", ","])
def test_other_schemes_are_not_secure(value: str):
    assert seen(PROXY, ("x-forwarded-proto", value)) == ("http", PROXY)


@pytest.mark.parametrize(
    ("value", "address"),
    [
        (STRANGER, STRANGER),
        (f"{STRANGER}:4711", STRANGER),
        (f"192.0.2.1, {STRANGER}, 10.1.2.3", STRANGER),
        ("10.1.2.3, 10.1.2.4", "10.1.2.3"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("unknown", PROXY),
        ("\x1b[2J", PROXY),
        ("", PROXY),
    ],
)
def test_address_is_the_last_that_is_no_trusted_proxy(value: str, address: str):
    assert seen(PROXY, ("x-forwarded-for", value)) == ("http", address)


def test_headers_of_a_stranger_are_ignored():
    sent = (("x-forwarded-for", "192.0.2.1"), ("x-forwarded-proto", "https"))
    assert seen(STRANGER, *sent) == ("http", STRANGER)


def test_proxy_at_a_unix_socket_is_trusted():
    sent = (("x-forwarded-for", "192.0.2.1"), ("x-forwarded-proto", "https"))
    assert seen(None, *sent) == ("https", "192.0.2.1")


def test_gateway_is_trusted_only_while_compose_publishes_on_loopback():
    assert entries(["gateway"], published_at="127.0.0.1:8000") == ["gateway"]
    assert entries(["gateway"], published_at="0.0.0.0:8000") == []
    assert entries(["gateway", PROXY], published_at="") == [PROXY]


def test_gateway_is_read_from_the_routes_of_the_host(tmp_path, monkeypatch):
    routes = tmp_path / "route"
    routes.write_text(
        "Iface Destination Gateway\neth0 00000000 010012AC 0003\neth0 000012AC 00000000\n"
    )
    monkeypatch.setattr("paca.common.trusted_proxies.ROUTES", routes)
    assert "172.18.0.1" in TrustedProxies(["gateway"])
    assert "172.18.0.2" not in TrustedProxies(["gateway"])


def test_wrong_entry_is_refused_with_its_name():
    with pytest.raises(ConfigurationError, match="proxy.internal"):
        TrustedProxies(["proxy.internal"])
