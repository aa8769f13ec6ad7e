"""Accepts connections one by one, so that none above the limits gets a descriptor for longer than a moment."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable

from paca.ops.connections.table import Connection, ConnectionTable
from paca.ops.uvicorn.http_protocol import answer

# A connection that is closed for a new one frees its descriptor only when the event loop runs again.
BATCH = 16
BACKLOG = 2048
NO_DESCRIPTORS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
PAUSE_SECONDS = 0.1
REFUSAL = answer("503 Service Unavailable", "retry-after: 5")


class Listener:
    """A listening socket. It has the methods by which uvicorn ends a server.

    The loop of asyncio accepts up to its whole backlog before any connection is handled, logs a traceback
    for each one that finds no descriptor, and has no limit.
    """

    def __init__(
        self,
        listening: socket.socket,
        table: ConnectionTable,
        new_protocol: Callable[[Connection], asyncio.Protocol],
    ) -> None:
        self._socket = listening
        self._table = table
        self._new_protocol = new_protocol
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._resume: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        listening.listen(BACKLOG)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Accept nothing more."""
        if self._resume is not None:
            self._resume.cancel()
        self._loop.remove_reader(self._socket)

    async def wait_closed(self) -> None:
        """Nothing is left to wait for; uvicorn waits for the connections itself."""

    def _accept(self) -> None:
        for _ in range(BATCH):
            try:
                accepted, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in NO_DESCRIPTORS:
                    raise
                self._pause()
                return
            accepted.setblocking(False)
            self._admit(accepted, str(address[0]) if isinstance(address, tuple) else "")

    def _pause(self) -> None:
        """There is no descriptor: free one, and leave the others in the backlog for a moment."""
        self._table.close_one()
        self._loop.remove_reader(self._socket)
        self._resume = self._loop.call_later(
            PAUSE_SECONDS, self._loop.add_reader, self._socket, self._accept
        )

    def _admit(self, accepted: socket.socket, peer: str) -> None:
        connection = self._table.admit(peer)
        if connection is None:
            with accepted, contextlib.suppress(OSError):
                accepted.send(REFUSAL)
            return
        task = self._loop.create_task(self._serve(accepted, connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, accepted: socket.socket, connection: Connection) -> None:
        protocol = self._new_protocol(connection)
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, accepted)
        except OSError:
            accepted.close()
            connection.ended()
