"""A network gate in this process, and the one server that every address leads to."""

import asyncio
import contextlib
import ipaddress
import ssl
from pathlib import Path

from paca.common.network_policy import EgressPolicy, Network
from paca.sandbox.egress import addresses, booking, request_head
from paca.sandbox.egress.booking import Booking
from paca.sandbox.egress.gate import Gate
from paca.sandbox.egress.relay import Stream

PUBLIC = "93.184.216.34"
# The gate process, in which every name has the public address, and every address leads to a server of the tests.
BOOT_CODE = """
import sys; sys.path.insert(0, sys.argv.pop(1))
import asyncio, ipaddress
import paca.sandbox.egress.gate as gate, paca.sandbox.egress.process as process
async def resolve(host, port):
    return [ipaddress.ip_address("{public}")]
async def connect(address, port):
    return gate.Stream(*await asyncio.open_connection("127.0.0.1", {port}, limit=gate.STREAM_BYTES))
gate.Gate.__init__.__kwdefaults__.update(resolve=resolve, connect=connect, is_own=lambda address: False)
process.main(sys.argv[1:])
"""


def boot_code(port: int) -> str:
    """The code of a gate process that reaches only the server on this port of the loopback."""
    return BOOT_CODE.format(public=PUBLIC, port=port)


POLICY = EgressPolicy(Network.RESTRICTED, ("pkgs.dev", "files.example"))


def hello(name: str | None) -> bytes:
    """The first message of a real client of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


class EgressWorld:
    """A gate on a socket, and the one server that every checked address leads to."""

    def __init__(self, folder: Path, policy: EgressPolicy = POLICY) -> None:
        self.policy = policy
        self.names: dict[str, list[str]] = {"pkgs.dev": [PUBLIC], "files.example": [PUBLIC]}
        self.resolved: list[str] = []
        self.connected: list[tuple[str, int]] = []
        self.got = bytearray()
        self.answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
        self.serving = 0
        self.path = folder / "booked.jsonl"
        self.socket_path = folder / "gate"
        self.socket = str(self.socket_path)
        self.gate = self.new_gate()

    def new_gate(self) -> Gate:
        return Gate(
            lambda: self.policy,
            Booking(self.path),
            resolve=self._resolve,
            connect=self._connect,
            is_own=lambda address: False,
        )

    async def _resolve(self, host: str, port: int) -> list[addresses.Address]:
        self.resolved.append(host)
        return [ipaddress.ip_address(each) for each in self.names.get(host, [])]

    async def _connect(self, address: addresses.Address, port: int) -> Stream:
        self.connected.append((str(address), port))
        return Stream(*await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 16))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.serving += 1
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                self.got += data
                writer.write(self.answer)
                await writer.drain()
                if b"Connection: close" in self.answer:
                    break
        self.serving -= 1
        writer.close()

    async def __aenter__(self) -> "EgressWorld":
        self._upstream = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._upstream.sockets[0].getsockname()[1]
        self._server = await asyncio.start_unix_server(
            self.gate.serve, self.socket, limit=request_head.MAX_HEAD_BYTES
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self.policy = EgressPolicy(Network.NONE)
        while not self.gate.is_idle or self.serving:
            self.gate.enforce()
            await asyncio.sleep(0.001)
        for server in (self._server, self._upstream):
            server.close()

    async def open(self, *sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_unix_connection(self.socket)
        for data in sent:
            writer.write(data)
        return reader, writer

    async def ask(self, *sent: bytes) -> bytes:
        """All that the gate answers until it closes the connection."""
        reader, writer = await self.open(*sent)
        try:
            return await reader.read(-1)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    def booked(self) -> list[booking.Booked]:
        return booking.read_lines(self.path, 0)[0]
