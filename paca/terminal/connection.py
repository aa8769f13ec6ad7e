"""The socket of a conversation: reconnects where it was, and sends each command until it is answered."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any, Literal
from uuid import uuid4

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from paca.terminal.failures import ClientFailure, ExitCode, no_paca, token_refused, unreachable
from paca.terminal.rest import ServerAddress

Frame = dict[str, Any]

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.25, 10.0
MAX_FRAME_BYTES = 16 * 1024 * 1024
CLOSE_SECONDS = 1.0  # a person who leaves does not wait for a server that hangs
SIGN_IN, NOT_ALLOWED, NOT_FOUND = 4401, 4403, 4404


class _Connect(connect):
    """Follows no redirect: the token must not go to another host."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class Connection:
    """Frames of one conversation above ``after``, in order, each event once.

    ``on_frame`` gets each frame, ``on_cut`` the reason when the connection is lost.
    """

    def __init__(
        self,
        address: ServerAddress,
        conversation_id: str,
        *,
        after: int,
        on_frame: Callable[[Frame], None],
        on_cut: Callable[[str], None],
        give_up_seconds: float | None = None,
    ) -> None:
        self.conversation_id, self.seq = conversation_id, after
        self._address, self._on_frame, self._on_cut = address, on_frame, on_cut
        self._give_up_seconds = give_up_seconds
        self._unanswered: dict[str, Frame] = {}
        self._socket: ClientConnection | None = None
        self._is_ready = False

    async def send(self, command: str, **fields: Any) -> str:
        """Send a command now, and again after a cut until the server has answered; gives its ``client_id``.

        The server executes a message that it gets twice once.
        """
        client_id = str(uuid4())
        frame = {"type": command, "client_id": client_id, **fields}
        self._unanswered[client_id] = frame
        if self._socket is not None:
            await self._transmit(self._socket, frame)
        return client_id

    @property
    def has_unanswered(self) -> bool:
        """Whether a command waits for its answer."""
        return bool(self._unanswered)

    async def run(self) -> None:
        """Receive until the task is cancelled. Raises ``ClientFailure`` if it makes no sense to try again."""
        loop = asyncio.get_running_loop()
        pause, lost_at = FIRST_PAUSE_SECONDS, loop.time()
        while True:
            self._is_ready = False
            reason = await self._follow_once()
            if self._is_ready:
                pause, lost_at = FIRST_PAUSE_SECONDS, loop.time()
            waits = self._give_up_seconds
            if waits is not None and loop.time() - lost_at > waits:
                raise unreachable(self._address.url, reason)
            self._on_cut(reason)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - not for secrets
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    async def _follow_once(self) -> str:
        """Receive until the connection is lost; gives the reason. Raises ``ClientFailure``."""
        try:
            await self._follow()
        except InvalidStatus as error:
            return self._explain_status(error.response.status_code)
        except ConnectionClosed as error:
            code = error.rcvd.code if error.rcvd else 0
            return self._explain_close(code, error.rcvd.reason if error.rcvd else "")
        except (OSError, TimeoutError, WebSocketException) as error:
            return str(error).strip().rstrip(".") or type(error).__name__
        finally:
            self._socket = None
        return "the server closed the connection"

    async def _follow(self) -> None:
        address = (
            f"{self._address.socket_url}/ws/conversations/{self.conversation_id}/?after={self.seq}"
        )
        proxy: Literal[True] | None = None if self._address.is_local else True
        async with _Connect(
            address,
            additional_headers=self._address.headers,
            max_size=MAX_FRAME_BYTES,
            close_timeout=CLOSE_SECONDS,
            proxy=proxy,
        ) as socket:
            self._socket = socket
            for frame in list(self._unanswered.values()):
                await self._transmit(socket, frame)
            async for text in socket:
                self._receive(text)
        raise ConnectionClosed(socket.protocol.close_rcvd, socket.protocol.close_sent)

    def _receive(self, text: str | bytes) -> None:
        try:
            frame = json.loads(text)
        except (ValueError, RecursionError):
            frame = None
        if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
            raise no_paca(self._address.url)
        self._is_ready = self._is_ready or frame["type"] == "ready"
        if frame["type"] in ("ack", "error"):
            frame["sent"] = self._unanswered.pop(str(frame.get("client_id")), None)
        seq = frame.get("seq")
        if isinstance(seq, int) and frame["type"] != "ready":
            if seq <= self.seq:
                return
            self.seq = seq
        self._on_frame(frame)

    @staticmethod
    async def _transmit(socket: ClientConnection, frame: Frame) -> None:
        try:
            await socket.send(json.dumps(frame))
        except ConnectionClosed:
            return  # it stays unanswered, and is sent again

    def _explain_close(self, code: int, reason: str) -> str:
        if code == SIGN_IN:
            raise token_refused()
        if code == NOT_ALLOWED:
            cause = reason or "You may not be here."
            step = "use the token of a person whose role and scopes allow it"
            raise ClientFailure(ExitCode.REFUSED, cause, step)
        if code == NOT_FOUND:
            cause = "This conversation is not there, or not for you."
            raise ClientFailure(ExitCode.WRONG_REQUEST, cause, "check --conversation and --project")
        return reason or f"closed with {code}" if code else "the connection broke"

    def _explain_status(self, status: int) -> str:
        if status in (401, 403):
            raise token_refused()
        if 300 <= status < 500 and status != 429:
            raise no_paca(self._address.url)
        return f"HTTP {status}"
