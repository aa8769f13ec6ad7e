"""What a hostile program sends to the gate in memory: nothing of it arrives anywhere, and nobody else is held up."""

import array
import asyncio
import socket
import struct
from contextlib import suppress
from pathlib import Path

import pytest

from paca.sandbox.egress import client_hello, gate
from paca.sandbox.egress.client_hello import NotTls
from paca.sandbox.egress.reasons import Reason
from tests.support.egress import EgressWorld
from tests.support.waiting import until

pytestmark = pytest.mark.anyio
CONNECT = b"CONNECT pkgs.dev:443 HTTP/1.1\r\nHost: pkgs.dev:443\r\n\r\n"
GET = b"GET http://pkgs.dev/a HTTP/1.1\r\nHost: pkgs.dev\r\n%b\r\n"
NAME, ECH = 0, 0xFE0D


@pytest.fixture
async def world(tmp_path, anyio_backend):
    async with EgressWorld(tmp_path) as made:
        yield made


def field(content: bytes, size: int = 2) -> bytes:
    return len(content).to_bytes(size, "big") + content


def record(content: bytes, kind: int = 22) -> bytes:
    return bytes([kind, 3, 1]) + field(content)


def name_of(name: bytes, after: bytes = b"", kind: int = 0) -> bytes:
    """The extension with a name, and bytes after its list."""
    return struct.pack("!H", NAME) + field(field(bytes([kind]) + field(name)) + after)


def message(*extensions: bytes, after: bytes = b"") -> bytes:
    """A first message of TLS with these extensions, and bytes after them."""
    begin = b"\x03\x03" + bytes(32) + field(b"", 1) + field(b"\x13\x01") + field(b"\0", 1)
    return b"\x01" + field(begin + field(b"".join(extensions)) + after, 3)


OWN = name_of(b"pkgs.dev")
SPLIT = message(name_of(b"evil.example"))
MESSAGES = {
    "a dot at the end": record(message(name_of(b"pkgs.dev."))),
    "a NUL in the name": record(message(name_of(b"pkgs.dev\0.evil.example"))),
    "a letter beyond ASCII": record(message(name_of("pkgs.d\u0435v".encode()))),
    "an empty name": record(message(name_of(b""))),
    "a space after the name": record(message(name_of(b"pkgs.dev "))),
    "an address as the name": record(message(name_of(b"93.184.216.34"))),
    "an unknown kind of name": record(message(name_of(b"pkgs.dev", kind=1))),
    "two extensions of names": record(message(OWN, name_of(b"evil.example"))),
    "the same extension twice": record(message(OWN, OWN)),
    "a name after the list": record(message(name_of(b"pkgs.dev", b"\0" + field(b"evil.example")))),
    "an extension after the last": record(message(OWN, after=name_of(b"evil.example"))),
    "a list without names": record(message(struct.pack("!H", NAME) + field(field(b"")))),
    "no extensions": record(message()),
    "an encrypted name only": record(message(struct.pack("!H", ECH) + field(b"evil.example"))),
    "an alert in the message": record(SPLIT[:9]) + record(b"\1\0", 21) + record(SPLIT[9:]),
    "a change of ciphers before": record(b"\1", 20) + record(message(OWN)),
    "data before": record(b"CANARY", 23) + record(message(OWN)),
    "an empty record before": record(b"") + record(message(OWN)),
    "the answer of a server": record(b"\x02" + message(OWN)[1:]),
    "a length beyond its record": record(message(OWN))[:3] + b"\xff\xff" + message(OWN),
    "http 2 without TLS": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a datagram of QUIC": b"\xc0\x00\x00\x00\x01" + bytes(40),
    "DTLS": b"\x16\xfe\xfd" + bytes(10) + message(OWN),
}


@pytest.mark.parametrize("first", MESSAGES.values(), ids=MESSAGES.keys())
async def test_first_message_that_could_be_read_in_two_ways_goes_nowhere(world, first):
    answer = await world.ask(CONNECT, first)
    assert answer.removeprefix(gate.ESTABLISHED) in (b"", client_hello.ALERT)
    assert world.got == b""
    assert world.booked()[-1].reason in (Reason.NOT_TLS, Reason.SNI_DIFFERS)


@pytest.mark.parametrize(
    "first",
    [
        record(message(OWN)),
        record(message(name_of(b"PKGS.dev"))),
        record(message(b"\x5a\x5a" + field(b""), OWN, b"\0\x10" + field(field(b"\2h2")))),
        b"".join(record(bytes([each])) for each in message(OWN)),
    ],
)
def test_first_messages_of_usual_clients_are_read(first):
    assert client_hello.server_name(first) == "pkgs.dev"


def test_first_message_is_read_to_its_last_byte():
    whole = message(OWN)[4:]
    for cut in range(len(whole)):
        with suppress(NotTls):
            assert client_hello.server_name(record(b"\x01" + field(whole[:cut], 3))) == ""
    assert client_hello.server_name(record(b"\x01" + field(whole, 3))) == "pkgs.dev"


LINES = {
    "Connection names Host": b"Connection: host, close\r\n",
    "Upgrade to a web socket": b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n",
    "Upgrade to http 2": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n",
    "Expect": b"Expect: 100-continue\r\n",
    "an empty body": b"Content-Length: 0\r\n",
    "Keep-Alive": b"Connection: keep-alive\r\nKeep-Alive: timeout=60\r\nProxy-Connection: keep-alive\r\n",
}


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES.keys())
async def test_a_plain_connection_stays_with_its_host_and_its_one_request(world, lines):
    """What follows the head is another request, the body of this one, or a frame of another protocol."""
    second = b"POST http://pkgs.dev/CANARY HTTP/1.1\r\nHost: CANARY.evil.example\r\n\r\nCANARY"
    await world.ask(GET % lines + second)
    head = bytes(world.got)
    assert head.startswith(b"GET /a HTTP/1.1\r\nHost: pkgs.dev\r\nConnection: close\r\n")
    assert head.endswith(b"\r\n\r\n")
    assert not {b"CANARY", b"Upgrade", b"upgrade", b"expect", b"content-length"} & set(
        head.replace(b":", b" ").split()
    )
    assert world.resolved == ["pkgs.dev"]


BODIES = {
    "chunks with a trailer": b"Transfer-Encoding: chunked\r\nTrailer: Host\r\n",
    "chunks by another name": b"Transfer-Encoding: xchunked\r\n",
    "a length with a sign": b"Content-Length: +0\r\n",
    "a length with zeros": b"Content-Length: 00\r\n",
    "a length twice in one": b"Content-Length: 0, 6\r\n",
    "an empty length": b"Content-Length:\r\n",
    "a second Host in other letters": b"hOsT: pkgs.dev\r\n",
    "a vertical tab after the name": b"Transfer-Encoding\x0b: chunked\r\n",
    "a line without a name": b": chunked\r\n",
}


@pytest.mark.parametrize("lines", BODIES.values(), ids=BODIES.keys())
async def test_a_request_with_a_doubtful_length_goes_nowhere(world, lines):
    answer = await world.ask(GET % lines + b"0\r\nHost: CANARY\r\n\r\nCANARY")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert (world.got, world.resolved) == (b"", [])


async def test_many_silent_connections_are_bounded_and_leave_room_for_the_answer(
    world, monkeypatch
):
    monkeypatch.setattr(gate, "MAX_CONNECTIONS", 4)
    silent = [await world.open() for _ in range(3 * 4)]
    refused = await asyncio.gather(*(reader.read(-1) for reader, _ in silent[4:]))
    # Those just beyond the most read why; the rest are closed, so that they cost nothing.
    assert [b"too_many" in answer for answer in refused] == [True] * 4 + [False] * 4
    for _, writer in silent:
        writer.close()
    await until(lambda: world.gate.is_idle)
    assert (await world.ask(GET % b"")).endswith(b"hello")


async def test_descriptors_that_are_sent_along_are_not_kept(world):
    """A socket of a file can carry open files: the gate must neither hold nor use them."""
    kept = len(list(Path("/proc/self/fd").iterdir()))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(world.socket)
        sent = array.array("i", [client.fileno()] * 50)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)]
        client.sendmsg([GET % b""], rights)
        client.setblocking(False)
        loop, answer = asyncio.get_running_loop(), b""
        while data := await loop.sock_recv(client, 1 << 16):
            answer += data
        assert answer.endswith(b"hello")
    assert len(list(Path("/proc/self/fd").iterdir())) <= kept + 3
