"""The streams of the SDK over a process in the sandbox: one JSON message a line, as the protocol's stdio has it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from paca.common.errors import PacaError
from paca.engine.mcp.errors import McpError
from paca.engine.workspace import ProcessPipe

MAX_MESSAGE_BYTES = 8 << 20
# What a server may write without being asked, and lines that are no messages, since the last request.
MAX_QUIET_BYTES = 64 << 20
MAX_QUIET_LINES = 10_000


class LineReader:
    """Cuts what a server writes into lines, within limits."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._bytes = self._lines = 0

    def asked(self) -> None:
        """A request was sent to the server: it may write again."""
        self._bytes = self._lines = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now. Raises ``McpError`` beyond a limit."""
        self._bytes += len(data)
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        self._rest += rest
        self._lines += len(lines)
        # guard: mcp-lines-are-bounded
        if (
            len(self._rest) > MAX_MESSAGE_BYTES
            or max(map(len, lines), default=0) > MAX_MESSAGE_BYTES
        ):
            raise McpError(f"it sent a message longer than {MAX_MESSAGE_BYTES >> 20} MiB")
        # guard: mcp-floods-end
        if self._bytes > MAX_QUIET_BYTES or self._lines > MAX_QUIET_LINES:
            raise McpError("it writes without end")
        return [line for line in lines if line.strip()]


def sandbox_transport(pipe: ProcessPipe, on_end: Callable[[str], None]) -> Transport:
    """The transport for a server that runs in the sandbox. ``on_end`` gets why the connection has ended, empty if
    that is not known.
    """
    return _transport(pipe, on_end)


@asynccontextmanager
async def _transport(
    pipe: ProcessPipe, on_end: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    to_session, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    lines = LineReader()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, pipe, lines, to_session, on_end)
        tasks.start_soon(_write, pipe, lines, from_session, to_session)
        try:
            yield read_stream, write_stream
        finally:
            for each in (read_stream, write_stream, to_session, from_session):
                each.close()
            tasks.cancel_scope.cancel()


async def _read(
    pipe: ProcessPipe,
    lines: LineReader,
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
    on_end: Callable[[str], None],
) -> None:
    """Pass on what the server writes, until its end."""
    async with to_session:
        try:
            while data := await pipe.receive():
                for line in lines.feed(data):
                    # What is no message, such as a line for people, is left out.
                    if (message := _parse(line)) is not None:
                        await to_session.send(message)
            on_end("")
        except PacaError as error:
            on_end(error.detail)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the session is gone


async def _write(
    pipe: ProcessPipe,
    lines: LineReader,
    from_session: MemoryObjectReceiveStream[SessionMessage],
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    """Send what the session says to the server."""
    async with from_session:
        try:
            async for message in from_session:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                # Not an answer to the server: it could ask for ever, and write as much in between.
                # guard: mcp-answers-to-a-server-allow-no-more
                if isinstance(message.message, mcp_types.JSONRPCRequest):
                    lines.asked()
                await pipe.send(f"{text}\n".encode())
        except PacaError:  # its end is what the reader meets too
            to_session.close()


def _parse(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None
