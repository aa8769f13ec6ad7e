"""A proxy of Docker's socket that a test can cut or slow down, to imitate a daemon in trouble."""

import asyncio
import threading
from pathlib import Path
from typing import Self

REAL = "/var/run/docker.sock"
METHODS = (b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE ")


class DockerProxy:
    """``with DockerProxy(folder) as proxy``; its ``address`` is a DOCKER_HOST. The containers live on
    while it is cut, as under a daemon with live-restore. Each request waits ``seconds_a_call``."""

    def __init__(self, folder: Path, *, to: str = REAL) -> None:
        self.seconds_a_call = 0.0
        self._to = to
        self._path = folder / "proxied.sock"
        self.address = f"unix://{self._path}"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._pumps: set[asyncio.Task] = set()
        self._ends: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self.restore()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.05), self._loop).result(5)  # sockets close
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def restore(self) -> None:
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(5)

    def cut(self) -> None:
        """End every connection and refuse new ones."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(5)

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_unix_server(self._forward, self._path)

    async def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
            self._path.unlink(missing_ok=True)
        await asyncio.sleep(0.05)  # connections that were just accepted are known afterwards
        pumps = list(self._pumps)
        for pump in pumps:
            pump.cancel()
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()
        await asyncio.gather(*pumps, return_exceptions=True)

    def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)
        pump = self._loop.create_task(self._pump_both(reader, writer))
        self._pumps.add(pump)
        pump.add_done_callback(self._pumps.discard)

    async def _pump_both(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_unix_connection(self._to)
        self._ends.add(up_writer)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pump(reader, up_writer))
            group.create_task(self._pump(up_reader, writer))
        for end in (writer, up_writer):
            end.close()
            self._ends.discard(end)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            if data.startswith(METHODS):
                await asyncio.sleep(self.seconds_a_call)
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
