"""The opener: a process beside the gate that opens sockets in files for it, since the gate may open none.

The gate asks for one of two things: the listening socket of a conversation, by its id, or a connection to the broker of
repositories. Each answer brings the descriptor, or says why there is none. What is handed over listens or is connected,
so that nobody can connect it to another socket. The two processes end with each other: only the channel joins them.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from paca.sandbox.egress import repositories, unix_sockets
from paca.sandbox.egress.folders import GateFolder

BROKER = b"broker"
MAX_MESSAGE = 256
# With a descriptor. Without one it is true: the kernel drops a descriptor for which the gate has no room.
OPENED = b"the gate has no descriptor left"


def make_channel() -> tuple[socket.socket, socket.socket]:
    """The ends of the gate and of the opener. They are connected for good, and keep messages apart."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def serve(root: Path, channel: socket.socket) -> None:
    """Open what the gate asks for, until it ends. ``root``: the folder of the gates."""
    with suppress(ConnectionError):
        while message := channel.recv(MAX_MESSAGE):
            try:
                opened = _open(root, message)
            except (OSError, ValueError) as error:  # for example, the folder is being removed
                channel.send((str(error) or repr(error)).encode()[:MAX_MESSAGE])
                continue
            with opened:
                socket.send_fds(channel, [OPENED], [opened.fileno()])


def _open(root: Path, message: bytes) -> socket.socket:
    if message == BROKER:
        return unix_sockets.connect(repositories.broker_socket(root))
    return unix_sockets.listen(GateFolder(root, UUID(bytes=message)).socket)


class Opener:
    """The opener, as the gate asks it: answers come in the order of the questions. ``on_end`` is called when it is gone."""

    def __init__(self, channel: socket.socket, on_end: Callable[[], None]) -> None:
        self._channel = channel
        self._on_end = on_end
        self._waiting: deque[asyncio.Future[socket.socket]] = deque()
        self._loop = asyncio.get_running_loop()
        channel.setblocking(False)
        self._loop.add_reader(channel, self._receive)

    async def listen(self, conversation_id: UUID) -> socket.socket:
        """The listening socket of a conversation, in its folder. Raises ``OSError``."""
        return await self._ask(conversation_id.bytes)

    async def connect_to_broker(self) -> socket.socket:
        """A connection to the broker of repositories. Raises ``OSError``."""
        return await self._ask(BROKER)

    async def _ask(self, message: bytes) -> socket.socket:
        self._channel.send(message)
        answer: asyncio.Future[socket.socket] = self._loop.create_future()
        self._waiting.append(answer)
        return await answer

    def _receive(self) -> None:
        text, descriptors = b"", list[int]()
        with suppress(ConnectionError):
            text, descriptors, _, _ = socket.recv_fds(self._channel, MAX_MESSAGE, 1)
        if not text:
            self._end()
            return
        opened = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        answer = self._waiting.popleft()
        if opened and not answer.done():
            answer.set_result(opened[0])
            return
        for each in opened:  # nobody waits for it any more
            each.close()
        if not answer.done():
            answer.set_exception(OSError(text.decode(errors="replace")))

    def _end(self) -> None:
        self._loop.remove_reader(self._channel)
        while self._waiting:
            if not (answer := self._waiting.popleft()).done():
                answer.set_exception(ConnectionResetError("the opener of the gate has ended"))
        self._on_end()
