"""Large transfers through the gate are moved by the kernel, and keep every promise of those that are copied."""

import asyncio
import errno
import socket
from contextlib import closing
from pathlib import Path

import pytest

from paca.common.network_policy import EgressPolicy, Network
from paca.sandbox.egress import relay
from paca.sandbox.egress.reasons import Reason
from paca.sandbox.egress.splicing import Splice
from paca.sandbox.runner import splice
from paca.sandbox.runner.splice import SPLICE_FROM_BYTES, Pipe
from tests.support.egress import EgressWorld, hello
from tests.support.waiting import until

pytestmark = pytest.mark.anyio
CONNECT = b"CONNECT pkgs.dev:443 HTTP/1.1\r\nHost: pkgs.dev:443\r\n\r\n"
SIZE = 4 * SPLICE_FROM_BYTES


class StreamingWorld(EgressWorld):
    """Its server sends much, takes all, and tells the number of bytes once the client has ended its part."""

    going_on: asyncio.Event

    async def _serve(self, reader, writer):
        self.serving += 1
        try:
            writer.write(bytes(range(256)) * (SIZE // 256))
            got = 0
            await self.going_on.wait()
            while data := await reader.read(1 << 16):
                got += len(data)
            writer.write(b"%d" % got)
            await writer.drain()
        except OSError:
            pass
        finally:
            self.serving -= 1
            writer.close()


@pytest.fixture
async def world(tmp_path, anyio_backend):
    async with StreamingWorld(tmp_path) as made:
        made.going_on = asyncio.Event()
        yield made
        made.going_on.set()


@pytest.fixture(params=["moved", "copied", "without descriptors"])
def way(request, monkeypatch):
    if request.param == "copied":
        monkeypatch.setattr(relay, "is_possible", lambda: False)
    elif request.param == "without descriptors":

        def refuse(*_):
            raise OSError(errno.EMFILE, "too many open files")

        monkeypatch.setattr(Pipe, "__init__", refuse)
    return request.param


async def begin(world):
    reader, writer = await world.open(CONNECT)
    await reader.readuntil(b"\r\n\r\n")
    writer.write(hello("pkgs.dev"))
    return reader, writer


async def test_much_arrives_whole_both_ways_and_each_end_may_end_first(world, way):
    reader, writer = await begin(world)
    answer = await reader.readexactly(SIZE)
    assert answer == bytes(range(256)) * (SIZE // 256)
    world.going_on.set()
    writer.write(bytes(SIZE))
    writer.write_eof()
    sent = len(hello("pkgs.dev")) + SIZE
    assert await reader.read(-1) == b"%d" % sent
    writer.close()
    await until(lambda: len(world.booked()) == 2)
    end = world.booked()[-1]
    assert (end.sent, end.received, end.reason) == (sent, SIZE + len(str(sent)), Reason.NONE)


async def test_a_budget_ends_a_large_transfer(tmp_path, anyio_backend, way):
    budget = 2 * SPLICE_FROM_BYTES
    policy = EgressPolicy(Network.RESTRICTED, ("pkgs.dev",), max_bytes=budget)
    async with StreamingWorld(tmp_path, policy) as world:
        world.going_on = asyncio.Event()
        world.going_on.set()
        reader, writer = await begin(world)
        assert len(await reader.read(-1)) <= budget
        writer.close()
        await until(lambda: len(world.booked()) == 2)
        end = world.booked()[-1]
        assert end.reason is Reason.BUDGET
        assert end.received <= budget + splice.PIPE_BYTES


async def test_a_narrower_policy_cuts_a_large_transfer(world, way):
    reader, writer = await begin(world)
    await reader.readexactly(SIZE)
    world.policy = EgressPolicy(Network.NONE)
    world.gate.enforce()
    assert await reader.read(-1) == b""
    writer.close()
    await until(lambda: len(world.booked()) == 2)
    assert world.booked()[-1].reason is Reason.NOT_LISTED


async def test_a_client_that_does_not_read_holds_up_nobody_else_and_fills_no_memory(world, way):
    slow = await asyncio.open_unix_connection(world.socket, limit=1 << 10)
    slow[1].write(CONNECT)
    await slow[0].readuntil(b"\r\n\r\n")
    slow[1].write(hello("pkgs.dev"))
    reader, writer = await begin(world)
    await reader.readexactly(SIZE)
    assert world.gate._booking.bytes < 2 * SIZE
    for each in (slow[1], writer):
        each.close()


async def test_ended_transfers_leave_no_descriptor(world, way):
    world.going_on.set()

    async def transfer():
        reader, writer = await begin(world)
        await reader.readexactly(SIZE)
        writer.write_eof()
        await reader.read(-1)
        writer.close()

    def open_files():
        return len(list(Path("/proc/self/fd").iterdir()))

    await transfer()
    await until(lambda: world.gate.is_idle and not world.serving)
    before = open_files()
    await transfer()
    await until(lambda: world.gate.is_idle and not world.serving)
    await until(lambda: open_files() <= before)


async def test_a_client_that_reads_slowly_is_not_idle(anyio_backend):
    """A pipe holds so much that a slow one may need minutes for it."""
    told: list[int] = []
    server, taken = socket.socketpair()
    given, client = socket.socketpair()
    with server, client, closing(Splice(taken, given)) as moved:
        for each in (server, taken, given, client):
            each.setblocking(False)
        given.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        size = server.send(bytes(192 << 10))
        server.close()
        running = asyncio.create_task(moved.run(told.append))
        running.add_done_callback(lambda _: given.close())
        got = 0
        while piece := await asyncio.get_running_loop().sock_recv(client, 4096):
            got += len(piece)
        assert got == sum(told) == size
        assert told.count(0) > 2
