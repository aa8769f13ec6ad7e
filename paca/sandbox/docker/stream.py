"""An attachment to a runner over the standard streams of its container."""

import asyncio

from paca.common import clock
from paca.common.errors import PacaError
from paca.engine import workspace
from paca.sandbox.docker.engine import CALL_SECONDS, Engine, Refused
from paca.sandbox.runner.frames import SPOIL, encode
from paca.sandbox.runner_client import Attachment

STDOUT = 1
HEADER = 8  # of each piece in Docker's stream: which of the two streams, three zeros, the length
KEPT_WORDS = 4000
SILENT_SECONDS = 20.0
LONGEST_HEAD = 65_536
UPGRADED = (101, 200)


class ContainerAttachment(Attachment):
    """Docker's side of the connection shows nobody's absence, so the worker says now and then that it
    is there, and what it has not heard for long is lost. ``said``: what came on standard error."""

    def __init__(self, container: str, *, alive_every: float) -> None:
        super().__init__()
        self._request = (
            f"POST /containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1\r\n"
            "Host: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
        ).encode("ascii")
        self._alive_every = alive_every
        self._beat: asyncio.TimerHandle | None = None
        self._heard_at = 0.0
        self._open: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._buffer = bytearray()
        self._said = b""

    @classmethod
    async def to(
        cls, engine: Engine, container: str, *, alive_every: float, seconds: float = CALL_SECONDS
    ) -> "ContainerAttachment":
        """Connect to a container, also one that has yet to start; ``attach`` is the next step.

        Raises ``SandboxUnreachable``: a daemon that is silent says nothing about its containers.
        """
        made: ContainerAttachment = await engine.connect(
            lambda: cls(container, alive_every=alive_every)
        )
        try:
            async with asyncio.timeout(seconds):
                await made._open
        except TimeoutError:
            made.close()
            raise engine.silent(seconds) from None
        except BaseException:
            made.close()
            raise
        return made

    @property
    def said(self) -> str:
        """The last that a runner in trouble said."""
        return self._said.decode(errors="replace").strip()

    async def attach(
        self, *, epoch: int, seconds: float, orphan_seconds: float | None = None
    ) -> None:
        await super().attach(epoch=epoch, seconds=seconds, orphan_seconds=orphan_seconds)
        self._say_alive()

    def close(self) -> None:
        if not self.lost and self.boot_id and self._transport is not None:
            self._transport.write(encode(self._nonce, {"op": "detach"}))
        super().close()

    # --- asyncio.Protocol -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._heard_at = clock.monotonic()
        self._buffer += data
        if self._open.done() or self._read_head():
            self._read_pieces()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._open.done():
            self._open.set_exception(workspace.SandboxGone())
        super().connection_lost(exc)

    def _end(self, error: PacaError) -> None:
        if self._beat is not None:
            self._beat.cancel()
        if self._open.done() and not self._open.cancelled():
            self._open.exception()  # seen, even if nobody waits for it any more
        super()._end(error)

    def _read_head(self) -> bool:
        """The answer to our request; after it the connection is the container's."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 and len(self._buffer) < LONGEST_HEAD:
            return False
        status = self._buffer[: max(end, 0)].split(b" ", 2)[1:2]
        code = int(status[0]) if status and status[0].isdigit() else 500
        del self._buffer[: end + 4]
        if code not in UPGRADED:
            self._open.set_exception(Refused(code, bytes(self._buffer).decode(errors="replace")))
            self._buffer.clear()
            return False
        self._open.set_result(None)
        if self._transport is not None:
            self._transport.write(SPOIL)
        return True

    def _read_pieces(self) -> None:
        while len(self._buffer) >= HEADER:
            stream = self._buffer[0]
            size = int.from_bytes(self._buffer[4:HEADER], "big")
            if len(self._buffer) < HEADER + size:
                return
            piece = bytes(self._buffer[HEADER : HEADER + size])
            del self._buffer[: HEADER + size]
            if stream == STDOUT:
                self._take(piece)
            else:
                self._said = (self._said + piece)[-KEPT_WORDS:]

    # --- being there ------------------------------------------------------------------------------

    def _say_alive(self) -> None:
        if self.lost or self._transport is None:
            return
        if clock.monotonic() - self._heard_at > SILENT_SECONDS + 2 * self._alive_every:
            self._end(workspace.SandboxGone("The sandbox does not answer."))
            self._transport.abort()
            return
        # Its answer has no number that anybody waits for: that it comes is all there is to it.
        self._transport.write(encode(self._nonce, {"op": "ping", "id": 0}))
        self._beat = asyncio.get_running_loop().call_later(self._alive_every, self._say_alive)
