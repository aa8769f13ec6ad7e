"""Workers that use one stream to a runner, as Docker gives them: their long frames mix, and each request is carried out once."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace

import pytest

from paca.sandbox import runner_client
from paca.sandbox.docker.stream import CHUNK_HEADER_BYTES, STDOUT, ContainerAttachment
from paca.sandbox.runner_client import Attachment

pytestmark = pytest.mark.anyio

PART_BYTES = 4096  # that the shared stream passes on at once; Docker passes on up to 32 KiB
Connect = Callable[[str], Awaitable[ContainerAttachment]]
LONG = "x" * 30_000
# A runner whose requests only count how often each is carried out.
RUNNER = """
import os
from collections import Counter
from paca.sandbox.runner.channel import Channel
from paca.sandbox.runner.server import RunnerServer

class Handler:
    busy = is_busy = False
    done = Counter()
    def __init__(self, *_, **__): pass
    def handle(self, message, reply):
        self.done[message["name"]] += 1
        reply(self.done[message["name"]])
    def unfollow(self, *_, **__): pass
    def tick(self, now): return 60.0
    def reap(self): pass

import paca.sandbox.runner.requests as requests
requests.RequestHandler = Handler
RunnerServer(shared=Channel(os.dup(0), os.dup(1)), epoch=0, unattended_seconds=60, settings={}).serve()
"""


class SharedStream:
    """Passes the bytes of all workers on to one runner in parts, and its output to all of them, like Docker."""

    def __init__(self, runner: asyncio.subprocess.Process) -> None:
        self._runner = runner
        self._writers: list[asyncio.StreamWriter] = []
        self.serving: list[asyncio.Task[None] | None] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 UPGRADED\r\n\r\n")
        self._writers.append(writer)
        self.serving.append(asyncio.current_task())
        assert self._runner.stdin is not None
        while data := await reader.read(PART_BYTES):
            self._runner.stdin.write(data)
            await self._runner.stdin.drain()
            await asyncio.sleep(0)  # so that the parts of all workers take turns
        self._writers.remove(writer)
        writer.close()

    async def pass_on(self) -> None:
        assert self._runner.stdout is not None
        while data := await self._runner.stdout.read(PART_BYTES):
            head = bytes([STDOUT, 0, 0, 0]) + len(data).to_bytes(CHUNK_HEADER_BYTES - 4, "big")
            for writer in self._writers:
                writer.write(head + data)


@pytest.fixture
async def connect(tmp_path) -> AsyncIterator[Connect]:
    """Connects a worker to the shared stream of a runner, in a session."""
    pipe = asyncio.subprocess.PIPE
    runner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", RUNNER, stdin=pipe, stdout=pipe
    )
    stream = SharedStream(runner)
    passing = asyncio.create_task(stream.pass_on())
    server = await asyncio.start_unix_server(stream.serve, str(tmp_path / "s"))
    workers: list[ContainerAttachment] = []

    async def connect(session: str) -> ContainerAttachment:
        _, worker = await asyncio.get_running_loop().create_unix_connection(
            lambda: ContainerAttachment("c", ping_interval=5.0), str(tmp_path / "s")
        )
        workers.append(worker)
        await worker._upgraded
        await worker.attach(epoch=1, seconds=60, session=session)
        return worker

    yield connect
    for worker in workers:
        worker.close()
    server.close()
    await asyncio.gather(*filter(None, stream.serving))
    runner.kill()
    await passing
    await runner.wait()
    assert runner.stdin is not None
    runner.stdin.close()


async def test_long_requests_of_several_workers_are_each_carried_out_once(connect, monkeypatch):
    monkeypatch.setattr(runner_client, "ANSWER_SECONDS", 20.0)
    workers = [await connect(session) for session in ("", "one", "two")]

    async def ask(worker: Attachment, who: int) -> list[int]:
        return [await worker.request("count", name=f"{who}-{n}", text=LONG) for n in range(2)]

    counts = await asyncio.gather(*(ask(worker, n) for n, worker in enumerate(workers)))
    assert counts == [[1, 1]] * 3


async def test_request_that_arrives_twice_is_carried_out_once(connect):
    worker = await connect("one")
    asking = asyncio.create_task(worker.request("count", name="x"))
    await asyncio.sleep(0)
    worker._resend()
    assert await asking == 1
    assert await worker.request("count", name="x") == 2


async def test_request_that_was_given_up_is_not_sent_again(connect, monkeypatch):
    worker = await connect("")
    giving_up = asyncio.create_task(worker.request("count", name="x", text=LONG))
    await asyncio.sleep(0)
    giving_up.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await giving_up
    await worker.request("count", name="other")
    sent: list[bytes] = []
    with monkeypatch.context() as patched:
        patched.setattr(worker, "_transport", SimpleNamespace(write=sent.append))
        worker._resend()
    assert sent == []
