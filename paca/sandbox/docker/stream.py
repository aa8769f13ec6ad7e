"""An attachment to a runner over the standard streams of its container."""

import asyncio
import random
from dataclasses import dataclass
from typing import Any

from paca.common import clock
from paca.common.errors import PacaError
from paca.engine import workspace
from paca.sandbox.docker.engine import CALL_SECONDS, DockerEngine, DockerRefused
from paca.sandbox.runner.frames import RESYNC, encode
from paca.sandbox.runner_client import Attachment

STDOUT = 1
CHUNK_HEADER_BYTES = 8  # of each chunk in Docker's stream: the stream, three zero bytes, the length
KEPT_STDERR_BYTES = 4000
SILENT_SECONDS = 20.0
MAX_HEAD_BYTES = 65_536
UPGRADED_STATUSES = (101, 200)
MAX_RESENDS = 12  # of one request
RESEND_SECONDS = 0.05  # the longest wait before the first one; it doubles, up to the 32-fold


@dataclass(slots=True)
class SentRequest:
    """A request without an answer: its frame, and how often it was sent again."""

    frame: bytes
    resends: int = 0


class ContainerAttachment(Attachment):
    """An attachment to a container.

    Docker does not report when a worker or a runner stops answering, so both rely on pings. The worker
    sends one every ``ping_interval`` seconds. The attachment is lost when nothing has arrived for long.
    """

    def __init__(self, container: str, *, ping_interval: float) -> None:
        super().__init__()
        self._request = (
            f"POST /containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1\r\n"
            "Host: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
        ).encode("ascii")
        self._ping_interval = ping_interval
        self._ping_timer: asyncio.TimerHandle | None = None
        self._last_data_at = 0.0
        self._upgraded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._buffer = bytearray()
        self._stderr = b""
        self._unanswered: dict[int, SentRequest] = {}
        self._resend_timer: asyncio.TimerHandle | None = None

    @classmethod
    async def connect(
        cls,
        engine: DockerEngine,
        container: str,
        *,
        ping_interval: float,
        seconds: float = CALL_SECONDS,
    ) -> "ContainerAttachment":
        """Connect to the streams of a container, which need not be started yet. ``attach`` is the next step.

        Raises ``SandboxUnreachable`` if Docker does not answer, ``SandboxUnavailable`` if its address is
        unusable, ``DockerRefused`` if it refuses, and ``SandboxGone`` if the connection ends.
        """
        attachment: ContainerAttachment = await engine.connect(
            lambda: cls(container, ping_interval=ping_interval)
        )
        try:
            async with asyncio.timeout(seconds):
                await attachment._upgraded
        except TimeoutError:
            attachment.close()
            raise engine.timeout_error(seconds) from None
        except BaseException:
            attachment.close()
            raise
        return attachment

    @property
    def stderr_text(self) -> str:
        """The last output on standard error, which a runner writes only when it fails."""
        return self._stderr.decode(errors="replace").strip()

    async def attach(
        self,
        *,
        epoch: int,
        seconds: float,
        unattended_seconds: float | None = None,
        session: str = "",
    ) -> None:
        """Attach, and start to send pings. See ``Attachment.attach``."""
        await super().attach(
            epoch=epoch, seconds=seconds, unattended_seconds=unattended_seconds, session=session
        )
        self._send_ping()

    def close(self) -> None:
        """Tell the runner that this worker detaches, and disconnect."""
        if not self.lost and self.boot_id and self._transport is not None:
            self._transport.write(encode(self._nonce, {"op": "detach"}))
        super().close()

    # --- asyncio.Protocol -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._last_data_at = clock.monotonic()
        self._buffer += data
        if self._upgraded.done() or self._read_response_head():
            self._read_chunks()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._upgraded.done():
            self._upgraded.set_exception(workspace.SandboxGone())
        super().connection_lost(exc)

    def _mark_lost(self, error: PacaError) -> None:
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        if self._upgraded.done() and not self._upgraded.cancelled():
            self._upgraded.exception()  # retrieved, so that asyncio does not warn
        if self._resend_timer is not None:
            self._resend_timer.cancel()
        self._unanswered.clear()
        super()._mark_lost(error)

    def _read_response_head(self) -> bool:
        """Read the head of the HTTP response; True once the connection carries the container's streams."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 and len(self._buffer) < MAX_HEAD_BYTES:
            return False
        status = self._buffer[: max(end, 0)].split(b" ", 2)[1:2]
        code = int(status[0]) if status and status[0].isdigit() else 500
        del self._buffer[: end + 4]
        if code not in UPGRADED_STATUSES:
            self._upgraded.set_exception(
                DockerRefused(code, bytes(self._buffer).decode(errors="replace"))
            )
            self._buffer.clear()
            return False
        self._upgraded.set_result(None)
        if self._transport is not None:
            self._transport.write(RESYNC)
        return True

    def _read_chunks(self) -> None:
        while len(self._buffer) >= CHUNK_HEADER_BYTES:
            stream = self._buffer[0]
            size = int.from_bytes(self._buffer[4:CHUNK_HEADER_BYTES], "big")
            if len(self._buffer) < CHUNK_HEADER_BYTES + size:
                return
            chunk = bytes(self._buffer[CHUNK_HEADER_BYTES : CHUNK_HEADER_BYTES + size])
            del self._buffer[: CHUNK_HEADER_BYTES + size]
            if stream == STDOUT:
                self._feed(chunk)
            else:
                self._stderr = (self._stderr + chunk)[-KEPT_STDERR_BYTES:]

    # --- requests that are sent again -------------------------------------------------------------

    def _send(self, number: int, frame: bytes) -> None:
        given_up = self._unanswered.keys() - self._answers.keys()
        for each in given_up:
            del self._unanswered[each]
        self._unanswered[number] = SentRequest(frame)
        super()._send(number, frame)

    def _handle_answer(self, message: dict[str, Any]) -> None:
        if isinstance(message["re"], int):
            self._unanswered.pop(message["re"], None)
        super()._handle_answer(message)

    def _resend_soon(self) -> None:
        """Send the requests again that are not answered, after a random time, so that their frames mix no more.

        Docker passes on what several workers write at once in parts. The runner carries each request out once.
        """
        if self.lost or self._resend_timer is not None or not self._unanswered:
            return
        tries = min(5, max(each.resends for each in self._unanswered.values()))
        wait = random.uniform(0, RESEND_SECONDS * 2**tries)  # noqa: S311 - no secret
        self._resend_timer = asyncio.get_running_loop().call_later(wait, self._resend)

    def _resend(self) -> None:
        self._resend_timer = None
        for number, sent in self._unanswered.items():
            if number in self._answers and sent.resends < MAX_RESENDS and self._transport:
                sent.resends += 1
                self._transport.write(sent.frame)

    # --- pings ------------------------------------------------------------------------------------

    def _send_ping(self) -> None:
        if self.lost or self._transport is None:
            return
        if clock.monotonic() - self._last_data_at > SILENT_SECONDS + 2 * self._ping_interval:
            self._mark_lost(workspace.SandboxGone("The sandbox does not answer."))
            self._transport.abort()
            return
        # No request has the id 0, so the answer is dropped: its arrival is all that counts.
        self._transport.write(encode(self._nonce, {"op": "ping", "id": 0}))
        self._ping_timer = asyncio.get_running_loop().call_later(
            self._ping_interval, self._send_ping
        )
