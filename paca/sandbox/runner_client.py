"""The worker's connection to a runner: it sends requests and receives answers and updates of calls."""

import asyncio
import contextlib
import itertools
import secrets
import socket
from collections.abc import Callable, Iterator
from typing import Any

from paca.common.errors import PacaError
from paca.engine import workspace
from paca.engine.workspace import Superseded
from paca.sandbox.runner import PROTOCOL, PROTOCOL_KEY, SESSION_KEY, UNATTENDED_SECONDS_KEY
from paca.sandbox.runner.frames import EVERYONE, MAX_FRAME, RESEND, RESYNC, FrameParser, encode

ERRORS_BY_CODE: dict[str, type[PacaError]] = {
    cls.code: cls
    for cls in (
        Superseded,
        workspace.WorkspaceError,
        workspace.OutsideWorkspace,
        workspace.NoSuchFile,
        workspace.NotAFile,
        workspace.FileChanged,
        workspace.NoSuchText,
        workspace.TextNotUnique,
        workspace.TextNotEncodable,
        workspace.FileTooLarge,
        workspace.CallUnknown,
    )
}
ANSWER_SECONDS = 60.0
MAX_DETAIL_CHARACTERS = 500


class FollowedCall:
    """One call whose output and outcome this worker waits for."""

    def __init__(
        self,
        on_output: Callable[[str], None] | None = None,
        on_data: Callable[[str], None] | None = None,
    ) -> None:
        self.on_output = on_output
        self.on_data = on_data
        self.outcome: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()


class Attachment(asyncio.Protocol):
    """A connection to a runner. Its nonce tells its frames from those of other workers.

    The agent may have taken over the runner, so its frames are not trusted.
    """

    def __init__(self) -> None:
        self._nonce = secrets.token_hex(8)
        self._parser = FrameParser()
        self._request_ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._followed: dict[str, list[FollowedCall]] = {}
        self._transport: asyncio.Transport | None = None
        self._lost_error: PacaError | None = None
        self._lost_event = asyncio.Event()
        self.boot_id = ""
        self.has_gate = False  # whether the sandbox was started with a network gate
        self.was_idle = False  # whether nothing ran in it when this attached
        self.resumed = False  # whether the sandbox was paused until it was opened

    @classmethod
    async def from_socket(
        cls,
        connected: socket.socket,
        *,
        epoch: int,
        seconds: float,
        unattended_seconds: float | None = None,
        session: str = "",
    ) -> "Attachment":
        """Attach over a connected socket. Raises ``Superseded``, ``SandboxGone`` or ``TimeoutError``."""
        _, attachment = await asyncio.get_running_loop().create_connection(cls, sock=connected)
        await attachment.attach(
            epoch=epoch, seconds=seconds, unattended_seconds=unattended_seconds, session=session
        )
        return attachment

    async def attach(
        self,
        *,
        epoch: int,
        seconds: float,
        unattended_seconds: float | None = None,
        session: str = "",
    ) -> None:
        """Become the only worker that the runner answers in this ``session``.

        Without a worker for ``unattended_seconds`` the runner ends; None leaves its current value.
        Raises ``Superseded``, ``SandboxGone`` or ``TimeoutError``.
        """
        try:
            async with asyncio.timeout(seconds):
                fields: dict[str, Any] = {
                    UNATTENDED_SECONDS_KEY: unattended_seconds,
                    PROTOCOL_KEY: PROTOCOL,
                }
                fields |= {SESSION_KEY: session} if session else {}
                # guard: helper-joins-no-runner-without-sessions
                op = "join" if session else "attach"
                welcome = await self.request(op, epoch=epoch, **fields)
        except BaseException:
            self.close()
            raise
        self.boot_id = str(welcome["boot_id"])
        # An older runner tells neither, and knows no gate.
        self.has_gate = welcome.get("has_gate") is True
        self.was_idle = welcome.get("idle") is True

    @property
    def lost(self) -> bool:
        """Whether the connection is gone for good."""
        return self._lost_error is not None

    async def wait_until_lost(self) -> None:
        """Wait until the connection is lost or closed."""
        await self._lost_event.wait()

    async def request(self, op: str, **fields: Any) -> Any:
        """Send a request and wait for its answer.

        Raises the error that the runner's answer names, ``FileTooLarge`` if the request is too long for
        a frame, and ``SandboxGone`` if the connection is lost or no answer comes.
        """
        if self._lost_error is not None or self._transport is None:
            raise self._lost_error or workspace.SandboxGone()
        number = next(self._request_ids)
        frame = encode(self._nonce, {"op": op, "id": number, **fields})
        if len(frame) > MAX_FRAME:
            raise workspace.FileTooLarge()
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._send(number, frame)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await answer
        except TimeoutError:
            # The sandbox is then opened again, which resumes or replaces one that is stopped.
            silent = workspace.SandboxGone("The sandbox does not answer.")
            self._mark_lost(silent)
            self._transport.abort()
            raise silent from None
        finally:
            self._answers.pop(number, None)

    def _send(self, number: int, frame: bytes) -> None:
        """Send the frame of the request ``number``."""
        assert self._transport is not None
        self._transport.write(frame)

    async def request_outcome(
        self, op: str, call_id: str, on_output: Callable[[str], None] | None, **fields: Any
    ) -> dict[str, Any]:
        """Send a request that starts or follows a call, and wait for the call's outcome.

        Raises ``SandboxGone`` or the error that the runner's answer names.
        """
        with self._following(call_id, on_output) as call:
            started = await self.request(op, call_id=call_id, **fields)
            return await _outcome(call, float(started["seconds"]) + ANSWER_SECONDS)

    async def request_outcome_within(
        self,
        seconds: float,
        op: str,
        call_id: str,
        on_output: Callable[[str], None] | None,
        **fields: Any,
    ) -> dict[str, Any] | None:
        """Like ``request_outcome``, but None if the call has run for ``seconds`` and goes on.

        ``fields`` hold its ``timeout``, from which the runner's answer tells how long it has run already.
        """
        with self._following(call_id, on_output) as call:
            started = await self.request(op, call_id=call_id, **fields)
            left = float(started["seconds"])
            if not left:  # it has ended, and its outcome follows
                return await _outcome(call, ANSWER_SECONDS)
            ran = max(0.0, float(fields["timeout"]) - left)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, seconds - ran)):
                    return await call.outcome
        with contextlib.suppress(workspace.WorkspaceError):  # an older runner does not know it
            await self.request("unfollow", call_id=call_id)
        return None

    @contextlib.contextmanager
    def _following(
        self, call_id: str, on_output: Callable[[str], None] | None
    ) -> Iterator[FollowedCall]:
        call = FollowedCall(on_output)
        self._followed.setdefault(call_id, []).append(call)
        try:
            yield call
        finally:
            self.unfollow(call_id, call)

    async def open_call(
        self, call_id: str, on_data: Callable[[str], None], **fields: Any
    ) -> FollowedCall:
        """Start a process with a pipe. ``on_data`` gets its standard output in base64, until ``unfollow``.

        Raises ``SandboxGone`` or the error that the runner's answer names.
        """
        call = FollowedCall(on_data=on_data)
        self._followed.setdefault(call_id, []).append(call)
        try:
            await self.request("open", call_id=call_id, **fields)
        except BaseException:
            self.unfollow(call_id, call)
            raise
        return call

    def unfollow(self, call_id: str, call: FollowedCall) -> None:
        """Take no more updates of the call."""
        calls = self._followed.get(call_id, [])
        if call in calls:
            calls.remove(call)
        if not calls:
            self._followed.pop(call_id, None)
        if call.outcome.done() and not call.outcome.cancelled():
            call.outcome.exception()  # retrieved, so that asyncio does not warn

    def close(self) -> None:
        """Disconnect; the runner and its calls continue."""
        self._mark_lost(workspace.SandboxGone("This worker has detached from the sandbox."))
        if self._transport is not None:
            self._transport.close()

    # --- asyncio.Protocol -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(RESYNC)

    def data_received(self, data: bytes) -> None:
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        for nonce, message in self._parser.feed(data):
            if nonce == self._nonce:
                self._handle_message(message)
            elif nonce == EVERYONE and message.get(RESEND):
                self._resend_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        self._mark_lost(workspace.SandboxGone())

    def _handle_message(self, message: dict[str, Any]) -> None:
        if "re" in message:
            self._handle_answer(message)
        elif "call" in message:
            for call in list(self._followed.get(str(message["call"]), ())):
                _update_call(call, message)
        elif message.get("superseded"):
            self._mark_lost(Superseded())

    def _resend_soon(self) -> None:
        """Send the requests again that are not answered. On a connection of its own no frame breaks."""

    def _handle_answer(self, message: dict[str, Any]) -> None:
        answer = self._answers.get(message["re"]) if isinstance(message["re"], int) else None
        if answer is None or answer.done():
            return
        if "ok" in message:
            answer.set_result(message["ok"])
        else:
            answer.set_exception(_decode_error(message.get("error")))

    def _mark_lost(self, error: PacaError) -> None:
        if self._lost_error is not None:
            return
        self._lost_error = error
        self._lost_event.set()
        calls = [call.outcome for found in self._followed.values() for call in found]
        for waiting in (*self._answers.values(), *calls):
            if not waiting.done():
                waiting.set_exception(error)


async def _outcome(call: FollowedCall, seconds: float) -> dict[str, Any]:
    try:
        async with asyncio.timeout(seconds):
            return await call.outcome
    except TimeoutError:
        raise workspace.SandboxGone("The sandbox does not answer.") from None


def _update_call(call: FollowedCall, message: dict[str, Any]) -> None:
    text, ended = message.get("text"), message.get("ended")
    if isinstance(text, str) and call.on_output is not None:
        call.on_output(text)
    if isinstance(data := message.get("data"), str) and call.on_data is not None:
        call.on_data(data)
    if isinstance(ended, dict) and not call.outcome.done():
        call.outcome.set_result(ended)


def _decode_error(error: Any) -> PacaError:
    found = error if isinstance(error, dict) else {}
    cls = ERRORS_BY_CODE.get(str(found.get("code")), workspace.WorkspaceError)
    return cls(str(found.get("detail") or "")[:MAX_DETAIL_CHARACTERS] or None)
