"""No attempt to get out of a sandbox's network succeeds, and each would be seen if it did: a weak gate lets them out."""

import asyncio
import contextlib
import ipaddress
import json
import socket
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paca.common.network_policy import EgressPolicy, Network
from paca.sandbox.base import Sandbox, SandboxSpec
from paca.sandbox.egress import addresses, gate
from paca.sandbox.egress.relay import Stream
from tests.sandbox.conftest import PARAMETERS, SandboxHandle
from tests.sandbox.egress import attempts
from tests.sandbox.egress.attempts import ATTEMPTS, PRIVATE, PUBLIC, canary_of
from tests.support.egress import EgressWorld

pytestmark = [pytest.mark.anyio, pytest.mark.service]
LISTED = EgressPolicy(Network.RESTRICTED, ("pkgs.dev", "*.moving.dev"))
OPEN = EgressPolicy(Network.OPEN)
SOURCE = Path(attempts.__file__)
# What reaches the listeners of the host if it is no sandbox that runs it.
WITHOUT_WALLS = {
    *("tcp-to-loopback", "tcp-to-the-host", "udp-to-loopback", "udp-to-the-host"),
    *("abstract-socket-of-the-host", "socket-in-a-file-of-the-host"),
    *("sockets-in-files", "folder-of-gates"),
}


class AttemptWorld(EgressWorld):
    """A gate whose names may be private ones, the server behind every address, and listeners of the host."""

    def __init__(self, folder: Path, policy: EgressPolicy = LISTED) -> None:
        super().__init__(folder, policy)
        self.names |= {
            f"{canary_of(f'name-of-{name}')}.moving.dev": found for name, found in PRIVATE.items()
        }
        self.names |= {
            f"{canary_of('tunnel-to-a-private-name')}.moving.dev": ["127.0.0.1"],
            "loopback.moving.dev": ["127.0.0.1"],
            "rebinding.moving.dev": [PUBLIC],
        }

    async def _resolve(self, host: str, port: int) -> list[addresses.Address]:
        self.resolved.append(host)
        found = self.names.get(host, [PUBLIC])
        if host == "rebinding.moving.dev":
            self.names[host] = ["127.0.0.1"]
        return [ipaddress.ip_address(each) for each in found]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer once, with a redirect if one is asked for, and take all that still comes."""
        self.serving += 1
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(60):
                first = await reader.read(1 << 16)
            self.got += first
            _, found, rest = first.partition(b"/redirect?to=")
            if found:
                to = bytes.fromhex(rest.split()[0].decode())
                head = b"HTTP/1.1 302 Found\r\nLocation: " + to
            else:
                head = b"HTTP/1.1 200 OK"
            writer.write(head + b"\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            writer.write_eof()
            async with asyncio.timeout(60):
                while data := await reader.read(1 << 16):
                    self.got += data
        self.serving -= 1
        writer.close()

    async def listen(self, folder: Path) -> dict[str, object]:
        """Servers of the host that a sandbox must not reach, and where they are."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.got += await reader.read(1 << 10)
            writer.write(b"!")
            writer.close()

        class Datagrams(asyncio.DatagramProtocol):
            def datagram_received(_, data: bytes, address: object) -> None:
                self.got += data

        loop = asyncio.get_running_loop()
        tcp = await asyncio.start_server(answer, "0.0.0.0", 0)
        udp, _ = await loop.create_datagram_endpoint(Datagrams, ("0.0.0.0", 0))
        name = f"paca-{uuid.uuid4()}"
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0{name}")
        self.listeners = [
            tcp,
            await asyncio.start_unix_server(answer, sock=abstract),
            await asyncio.start_unix_server(answer, folder / "s"),
        ]
        self.datagrams = udp
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.connect((PUBLIC, 9))  # sends nothing
            host = asking.getsockname()[0]
        return {
            "host": host,
            "tcp": tcp.sockets[0].getsockname()[1],
            "udp": udp.get_extra_info("sockname")[1],
            "abstract": f"@{name}",
            "file": str(folder / "s"),
            "folder": str(folder),
        }

    async def __aexit__(self, *error: object) -> None:
        for server in getattr(self, "listeners", []):
            server.close()
        if hasattr(self, "datagrams"):
            self.datagrams.close()
        await super().__aexit__(*error)

    def got_out(self, kind: str) -> set[str]:
        """The attempts whose canary has come where it must not."""
        names = [name for name in self.resolved if not self.policy.allows_host(name)]
        seen = bytes(self.got).lower() + " ".join(names).encode()
        return {name for name in ATTEMPTS[kind] if canary_of(name).encode() in seen}


class WeakWorld(AttemptWorld):
    """A gate that allows everything and passes it on as it is, as a simple proxy does."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(1 << 16)
        target = first.split()[1].decode("latin-1") if len(first.split()) > 1 else ""
        await self._resolve(target, 0)
        server = await self._connect(ipaddress.ip_address(PUBLIC), 0)
        if first.startswith(b"CONNECT"):
            writer.write(gate.ESTABLISHED)
            first = first.partition(b"\r\n\r\n")[2]
        server.writer.write(first)

        async def move(source: asyncio.StreamReader, target: Stream) -> None:
            with contextlib.suppress(OSError):
                while data := await source.read(1 << 16):
                    target.writer.write(data)
                target.writer.write_eof()

        client = Stream(reader, writer)
        await asyncio.gather(move(reader, server), move(server.reader, client))
        server.close()
        client.close()

    async def __aenter__(self) -> "WeakWorld":
        self.gate.serve = self.serve  # type: ignore[method-assign]
        await super().__aenter__()
        return self


@pytest.fixture
async def world(tmp_path, anyio_backend, monkeypatch, request) -> AsyncIterator[AttemptWorld]:
    monkeypatch.setattr(gate, "HEAD_SECONDS", 0.5)
    folder = tmp_path / "gate"
    folder.mkdir()
    folder.chmod(0o755)
    async with getattr(request, "param", AttemptWorld)(folder) as made:
        made.socket_path.chmod(0o666)
        yield made


@pytest.fixture
async def opened(backend, world, anyio_backend) -> AsyncIterator[SandboxHandle]:
    spec = SandboxSpec(uuid.uuid4(), egress=LISTED, gate=world.socket_path.parent)
    sandbox: Sandbox = await backend.open(spec, epoch=1)
    handle = SandboxHandle(sandbox, spec)
    await handle.write("attempts.py", SOURCE.read_bytes())
    yield handle
    await sandbox.end(keep_files=False)


async def attempt(opened: SandboxHandle, kind: str, listeners: dict[str, object]) -> set[str]:
    """Make all attempts of a kind; gives those that say they came somewhere."""
    found = await opened.bash(f"python3 attempts.py {kind} '{json.dumps(listeners)}'", seconds=120)
    assert found.exit_code == 0, found.output
    return set(json.loads(found.output.splitlines()[-1]))


def test_the_suite_has_many_attempts():
    assert sum(map(len, ATTEMPTS.values())) >= 120


@pytest.mark.parametrize("backend", PARAMETERS, indirect=True)
async def test_no_attempt_gets_out(opened, world, tmp_path):
    for kind, policy in (("listed", LISTED), ("open", OPEN), ("walls", LISTED)):
        world.policy = policy
        arrived = await attempt(
            opened, kind, await world.listen(tmp_path) if kind == "walls" else {}
        )
        assert arrived | world.got_out(kind) == set()
    assert {address for address, _ in world.connected} == {PUBLIC}
    assert b"GET / HTTP/1.1\r\nHost: pkgs.dev\r\n" in world.got  # so the gate was there


@pytest.mark.parametrize("world", [WeakWorld], indirect=True)
@pytest.mark.parametrize("backend", ["bubblewrap"], indirect=True)
async def test_a_weak_gate_is_caught_by_each_attempt(opened, world):
    world.policy = EgressPolicy()
    for kind in ("listed", "open"):
        await attempt(opened, kind, {})
        assert world.got_out(kind) == ATTEMPTS[kind].keys()


async def test_a_host_without_walls_is_caught(world, tmp_path):
    listeners = json.dumps(await world.listen(tmp_path))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(SOURCE), "walls", listeners, *WITHOUT_WALLS),
        stdout=subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert set(json.loads(output)) | world.got_out("walls") == WITHOUT_WALLS
