"""The gate of sandboxes refuses every way around its list of hosts, and lets the usual clients through."""

import pytest
from django.apps import apps

from paca.common import host_names as names
from paca.common.errors import ConfigurationError
from paca.common.network_policy import (
    PRESETS,
    EgressPolicy,
    Network,
    host_problem,
    hosts_of,
    narrower,
    private_server_problem,
)
from paca.sandbox.egress import request_head
from paca.sandbox.egress.decision import Allowed, Denied, decide
from paca.sandbox.egress.reasons import SENTENCES, Reason, sentence
from paca.sandbox.egress.request_head import MalformedRequest

POLICY = EgressPolicy(Network.RESTRICTED, ("pkgs.dev", "*.example.org", "xn--bcher-kva.example"))


def ask(head: str | bytes, policy: EgressPolicy = POLICY) -> Allowed | Denied:
    data = head if isinstance(head, bytes) else head.encode("latin-1")
    try:
        return decide(request_head.parse(data), policy)
    except MalformedRequest:
        return Denied(Reason.MALFORMED)


def connect(target: str, *headers: str) -> str:
    return "\r\n".join([f"CONNECT {target} HTTP/1.1", *headers]) + "\r\n\r\n"


def get(target: str, host: str | None = None, *headers: str, method: str = "GET") -> str:
    named = [] if host is None else [f"Host: {host}"]
    return "\r\n".join([f"{method} {target} HTTP/1.1", *named, *headers]) + "\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "host", "port"),
    [
        (connect("pkgs.dev:443"), "pkgs.dev", 443),
        (connect("PkGs.dev:443", "Host: pkgs.dev:443"), "pkgs.dev", 443),
        (
            connect("pkgs.dev:443", "Host: pkgs.dev", "Proxy-Connection: keep-alive"),
            "pkgs.dev",
            443,
        ),
        (connect("pkgs.dev:443").replace("1.1", "1.0"), "pkgs.dev", 443),
        (connect("a.b.example.org:443"), "a.b.example.org", 443),
        (connect("xn--bcher-kva.example:443"), "xn--bcher-kva.example", 443),
        (get("http://pkgs.dev/simple/", "pkgs.dev"), "pkgs.dev", 80),
        (get("http://pkgs.dev:80/simple/?a=b", "pkgs.dev:80"), "pkgs.dev", 80),
        (get("HTTP://pkgs.dev", "PKGS.dev", method="HEAD"), "pkgs.dev", 80),
        (get("http://pkgs.dev/", "pkgs.dev", "Content-Length: 0"), "pkgs.dev", 80),
    ],
)
def test_requests_of_usual_clients_are_allowed(head, host, port):
    found = ask(head)
    assert isinstance(found, Allowed)
    assert (found.host, found.port, found.is_tunnel) == (host, port, port == 443)


ATTACKS = {
    "a host that is not listed": (connect("evil.example:443"), Reason.NOT_LISTED),
    "a host that ends like a listed one": (connect("notpkgs.dev:443"), Reason.NOT_LISTED),
    "a host that begins like a listed one": (connect("pkgs.dev.evil.com:443"), Reason.NOT_LISTED),
    "the host of a wildcard itself": (connect("example.org:443"), Reason.NOT_LISTED),
    "a wildcard without its dot": (connect("evilexample.org:443"), Reason.NOT_LISTED),
    "a port for mail": (connect("pkgs.dev:25"), Reason.PORT),
    "a tunnel to the port of http": (connect("pkgs.dev:80"), Reason.PORT),
    "a tunnel to ssh": (connect("pkgs.dev:22"), Reason.PORT),
    "port zero": (connect("pkgs.dev:0"), Reason.PORT),
    "a port that wraps around": (connect("pkgs.dev:65979"), Reason.PORT),
    "a port that is no number": (connect("pkgs.dev:443x"), Reason.MALFORMED),
    "a tunnel without a port": (connect("pkgs.dev"), Reason.MALFORMED),
    "a tunnel to an address": (connect("93.184.216.34:443"), Reason.ADDRESS),
    "a tunnel to this machine": (connect("127.0.0.1:443"), Reason.ADDRESS),
    "metadata by its address": (connect("169.254.169.254:443"), Reason.ADDRESS),
    "plain metadata": (get("http://169.254.169.254/latest/", "169.254.169.254"), Reason.ADDRESS),
    "metadata by its name": (connect("metadata.google.internal:443"), Reason.NAME),
    "an address of IPv6": (connect("[::1]:443"), Reason.ADDRESS),
    "a mapped address": (connect("[::ffff:169.254.169.254]:443"), Reason.ADDRESS),
    "an address with a zone": (connect("[fe80::1%25eth0]:443"), Reason.MALFORMED),
    "an address of IPv6 without brackets": (connect("::1:443"), Reason.MALFORMED),
    "an address as one number": (connect("2130706433:443"), Reason.ADDRESS),
    "a hexadecimal address": (connect("0x7f000001:443"), Reason.ADDRESS),
    "a hexadecimal address in parts": (connect("0x7f.0x0.0x0.0x1:443"), Reason.ADDRESS),
    "an octal address": (connect("0177.0.0.1:443"), Reason.ADDRESS),
    "a short address": (connect("127.1:443"), Reason.ADDRESS),
    "an address with a dot at its end": (connect("127.0.0.1.:443"), Reason.ADDRESS),
    "this machine by its name": (connect("localhost:443"), Reason.NAME),
    "a neighbour by its short name": (get("http://postgres/", "postgres"), Reason.NAME),
    "a name below localhost": (connect("pkgs.dev.localhost:443"), Reason.NAME),
    "a dot at the end": (connect("pkgs.dev.:443"), Reason.NAME),
    "two dots": (connect("pkgs..dev:443"), Reason.NAME),
    "an underscore": (connect("a_b.example.org:443"), Reason.NAME),
    "a label that is too long": (connect(f"{'a' * 64}.example.org:443"), Reason.NAME),
    "a name that is too long": (connect(f"{'a.' * 125}example.org:443"), Reason.NAME),
    "a hyphen at the begin": (connect("-a.example.org:443"), Reason.NAME),
    "a NUL in the name": (connect("pkgs.dev\0.example.org:443"), Reason.MALFORMED),
    "a letter beyond ASCII": (connect("pkgs.dev\xe9:443"), Reason.MALFORMED),
    "an encoded dot": (connect("pkgs%2edev:443"), Reason.NAME),
    "a user before a tunnel's host": (connect("pkgs.dev:443@evil.example:443"), Reason.MALFORMED),
    "a user before the host": (get("http://pkgs.dev@evil.example/", "pkgs.dev"), Reason.MALFORMED),
    "a password before the host": (get("http://u:p@pkgs.dev/", "pkgs.dev"), Reason.MALFORMED),
    "a backslash before the host": (
        get("http://evil.example\\@pkgs.dev/", "pkgs.dev"),
        Reason.MALFORMED,
    ),
    "a fragment in the address": (
        get("http://pkgs.dev#@evil.example/", "pkgs.dev"),
        Reason.MALFORMED,
    ),
    "another Host than the address": (get("http://pkgs.dev/", "evil.example"), Reason.HOST_DIFFERS),
    "another address than the Host": (get("http://evil.example/", "pkgs.dev"), Reason.HOST_DIFFERS),
    "no Host": (get("http://pkgs.dev/"), Reason.HOST_DIFFERS),
    "an empty Host": (get("http://pkgs.dev/", ""), Reason.HOST_DIFFERS),
    "Host with another port": (get("http://pkgs.dev/", "pkgs.dev:8080"), Reason.HOST_DIFFERS),
    "Host with a user": (get("http://pkgs.dev/", "pkgs.dev@evil.example"), Reason.HOST_DIFFERS),
    "two Hosts": (get("http://pkgs.dev/", "pkgs.dev", "Host: evil.example"), Reason.MALFORMED),
    "a tunnel with another Host": (connect("pkgs.dev:443", "Host: evil.com"), Reason.HOST_DIFFERS),
    "another port by http": (get("http://pkgs.dev:8080/", "pkgs.dev:8080"), Reason.PORT),
    "port zero by http": (get("http://pkgs.dev:0/", "pkgs.dev"), Reason.PORT),
    "the port of TLS by http": (get("http://pkgs.dev:443/", "pkgs.dev:443"), Reason.PORT),
    "https without a tunnel": (get("https://pkgs.dev/", "pkgs.dev"), Reason.SCHEME),
    "another scheme": (get("ftp://pkgs.dev/", "pkgs.dev"), Reason.SCHEME),
    "an address of a file": (get("file:///etc/passwd", "pkgs.dev"), Reason.MALFORMED),
    "no proxy request": (get("/etc/passwd", "pkgs.dev"), Reason.MALFORMED),
    "a star": (get("*", "pkgs.dev", method="OPTIONS"), Reason.MALFORMED),
    "a method that writes": (get("http://pkgs.dev/", "pkgs.dev", method="POST"), Reason.METHOD),
    "a method of WebDAV": (get("http://pkgs.dev/", "pkgs.dev", method="PROPFIND"), Reason.METHOD),
    "a body of GET": (get("http://pkgs.dev/", "pkgs.dev", "Content-Length: 9"), Reason.METHOD),
    "chunks": (get("http://pkgs.dev/", "pkgs.dev", "Transfer-Encoding: chunked"), Reason.METHOD),
    "two lengths": (
        get("http://pkgs.dev/", "pkgs.dev", "Content-Length: 0", "Content-Length: 9"),
        Reason.MALFORMED,
    ),
    "a body of a tunnel": (connect("pkgs.dev:443", "Content-Length: 9"), Reason.MALFORMED),
    "a line end in the address": (get("http://pkgs.dev/\r\nX: y", "pkgs.dev"), Reason.MALFORMED),
    "a bare line feed": (get("http://pkgs.dev/", "pkgs.dev\nHost: evil.example"), Reason.MALFORMED),
    "a bare carriage return": (get("http://pkgs.dev/", "pkgs.dev\rX: y"), Reason.MALFORMED),
    "a NUL in a header": (get("http://pkgs.dev/", "pkgs.dev", "A: b\0c"), Reason.MALFORMED),
    "a space before the colon": (
        get("http://pkgs.dev/", None, "Host : pkgs.dev"),
        Reason.MALFORMED,
    ),
    "a continued line": (get("http://pkgs.dev/", "pkgs.dev", " evil.example"), Reason.MALFORMED),
    "a tab in the request line": ("GET\thttp://pkgs.dev/ HTTP/1.1\r\n\r\n", Reason.MALFORMED),
    "a small method": (connect("pkgs.dev:443").replace("CONNECT", "connect"), Reason.MALFORMED),
    "version 2": ("PRI * HTTP/2.0\r\n\r\n", Reason.MALFORMED),
    "version 0.9": ("GET http://pkgs.dev/\r\n\r\n", Reason.MALFORMED),
    "no line at all": ("\r\n\r\n", Reason.MALFORMED),
    "TLS to the proxy itself": (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", Reason.MALFORMED),
    "SOCKS to the proxy": (b"\x05\x01\x00\r\n\r\n", Reason.MALFORMED),
    "very many headers": (get("http://pkgs.dev/", "pkgs.dev", *["A: b"] * 64), Reason.MALFORMED),
    "a header without end": (
        get("http://pkgs.dev/", "pkgs.dev", f"A: {'b' * (17 << 10)}"),
        Reason.MALFORMED,
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_refused_with_their_reason(name):
    head, reason = ATTACKS[name]
    found = ask(head)
    assert isinstance(found, Denied)
    assert found.reason is reason


def test_there_are_more_attacks_than_forty():
    assert len(ATTACKS) >= 60


def test_a_closed_policy_allows_nothing_whatever_its_list_says():
    closed = EgressPolicy(Network.NONE, ("pkgs.dev",))
    found = ask(connect("pkgs.dev:443"), closed)
    assert isinstance(found, Denied)
    assert found.reason is Reason.CLOSED


@pytest.mark.parametrize("name", ATTACKS)
def test_an_open_policy_allows_names_that_are_not_listed_and_nothing_else(name):
    head, reason = ATTACKS[name]
    found = ask(head, EgressPolicy(Network.OPEN))
    if reason is Reason.NOT_LISTED:
        assert isinstance(found, Allowed)
    else:
        assert isinstance(found, Denied)
        assert found.reason is reason


def test_the_head_for_the_server_is_written_anew_without_what_concerns_the_proxy():
    sent = ask(
        get(
            "http://pkgs.dev/a?b",
            "pkgs.dev:80",
            *("Connection: close, X-Secret", "X-Secret: 1", "Upgrade: h2c", "HTTP2-Settings: x"),
            *("Proxy-Authorization: Basic eA==", "X-Forwarded-Host: evil.example", "Accept: */*"),
        )
    )
    assert isinstance(sent, Allowed)
    lines = sent.head.decode().split("\r\n")
    assert lines == [
        "GET /a?b HTTP/1.1",
        "Host: pkgs.dev",
        "Connection: close",
        "accept: */*",
        "",
        "",
    ]


def test_a_query_without_a_path_is_sent_with_one():
    sent = ask(get("http://pkgs.dev?a=b", "pkgs.dev"))
    assert isinstance(sent, Allowed)
    assert sent.head.startswith(b"GET /?a=b HTTP/1.1\r\n")


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason])
def test_every_reason_is_one_line_with_a_next_step(reason):
    text = sentence(reason, "evil.example\r\nX: y\xe9", 25)
    assert reason in SENTENCES
    assert text.isascii()
    assert text.isprintable()
    assert text.count(".") >= 2


# --- policies -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["pkgs.dev", "*.example.org", "xn--bcher-kva.example", "a-b.c1.de"]
)
def test_names_and_wildcards_may_be_listed(text):
    assert host_problem(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        *("*", "*.org", "*pkgs.dev", "a.*.org", "**.pkgs.dev", ".pkgs.dev", "pkgs.dev.", "", "org"),
        *(
            "https://pkgs.dev",
            "pkgs.dev/simple",
            "pkgs.dev:443",
            "u@pkgs.dev",
            "127.0.0.1",
            "[::1]",
        ),
        *(
            "PKGS.dev",
            "bücher.example",
            "localhost",
            "db.internal",
            "a b.org",
            "pkgs.dev\n",
            "1.2.3",
        ),
    ],
)
def test_anything_else_is_refused_with_a_reason(text):
    assert host_problem(text) != ""


def test_presets_hold_hosts_that_may_be_listed():
    assert [host for hosts in PRESETS.values() for host in hosts if host_problem(host)] == []


def test_hosts_of_presets_and_own_ones_count_once():
    assert hosts_of(("python", "gone"), ("a.example", PRESETS["python"][0])) == (
        *PRESETS["python"],
        "a.example",
    )


@pytest.mark.parametrize(
    ("wanted", "ceiling", "found"),
    [
        ("open", "none", "none"),
        ("open", "restricted", "restricted"),
        ("none", "open", "none"),
        ("restricted", "open", "restricted"),
        ("open", "open", "open"),
    ],
)
def test_an_agent_never_gets_more_than_its_project_allows(wanted, ceiling, found):
    assert narrower(wanted, ceiling) == found


def test_a_policy_is_read_as_it_was_written():
    assert EgressPolicy.from_json(POLICY.to_json()) == POLICY


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", '{"network": "all"}', POLICY.to_json().replace('"pkgs.dev"', "7")],
)
def test_damaged_policies_are_errors(text):
    with pytest.raises(ValueError, match="."):
        EgressPolicy.from_json(text)


def test_a_wildcard_means_names_below_it_only():
    assert names.matches("a.example.org", "*.example.org")
    assert not names.matches("example.org", "*.example.org")
    assert not names.matches("aexample.org", "*.example.org")


# --- servers in private networks -------------------------------------------------------------------

PRIVATE = EgressPolicy(
    Network.OPEN,
    ("mirror.example", "any.example"),
    private=("mirror.example:8443", "unlisted.example:8443", "any.example:*"),
)


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (connect("mirror.example:8443"), None),
        (connect("mirror.example:443"), None),
        (connect("any.example:3141"), None),
        (get("http://mirror.example:8443/a", "mirror.example:8443"), None),
        (get("http://any.example:8081/a", "any.example:8081"), None),
        (connect("mirror.example:8444"), Reason.PORT),
        (connect("unlisted.example:8443"), Reason.PORT),  # by the project
        (connect("other.example:8443"), Reason.PORT),
        (connect("any.example:0"), Reason.PORT),
        (connect("any.example:65536"), Reason.PORT),
        (get("http://mirror.example:8080/a", "mirror.example:8080"), Reason.PORT),
        (get("http://mirror.example:8443/a", "mirror.example"), Reason.HOST_DIFFERS),
        (get("http://mirror.example:8443/a", "mirror.example:80"), Reason.HOST_DIFFERS),
        (get("http://any.example:8081/", "any.example:8081", method="POST"), Reason.METHOD),
    ],
)
def test_private_server_is_reached_by_the_ports_that_the_operator_lists(head, reason):
    found = decide(request_head.parse(head.encode()), PRIVATE)
    assert (found.reason if isinstance(found, Denied) else None) == reason


def test_the_server_reads_the_port_that_was_asked_for():
    head = get("http://any.example:8081/a", "any.example:8081")
    found = decide(request_head.parse(head.encode()), PRIVATE)
    assert found.head == b"GET /a HTTP/1.1\r\nHost: any.example:8081\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "entry",
    [
        *("mirror.example.org", "mirror.example.org:", "mirror.example.org:x", ":443", "local"),
        *("mirror.example.org:0", "mirror.example.org:65536", "mirror.example.org:-1"),
        *("10.0.0.7:443", "[::1]:443", "mirror:443", "mirror.corp:443", "mirror.local:443"),
        *("*.example.org:443", "https://mirror.example.org:443", "mirror.example.org/x:443"),
    ],
)
def test_a_private_server_that_could_not_be_reached_is_refused_at_the_start(entry, settings):
    settings.PRIVATE_PACKAGE_SERVERS = ["good.example.org:8443", entry]
    with pytest.raises(ConfigurationError, match=r"PRIVATE_PACKAGE_SERVERS: .*(no name|host:port)"):
        apps.get_app_config("agents").ready()


@pytest.mark.parametrize(
    "entry", ["mirror.example.org:443", "Mirror.example.org:8081", "a.b.dev:*"]
)
def test_a_private_server_that_can_be_reached_is_accepted_at_the_start(entry):
    assert private_server_problem(entry) == ""
