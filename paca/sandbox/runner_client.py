"""The worker's end of an attachment: requests out, answers and news of calls in."""

import asyncio
import itertools
import secrets
import socket
from collections.abc import Callable
from typing import Any

from paca.common.errors import PacaError
from paca.engine import workspace
from paca.engine.workspace import Superseded
from paca.sandbox.runner.frames import MAX_FRAME, SPOIL, Parser, encode

ERRORS: dict[str, type[PacaError]] = {
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
        workspace.FileTooLarge,
        workspace.CallUnknown,
    )
}
ANSWER_SECONDS = 60.0
DETAIL_LIMIT = 500


class Watch:
    """One call as this worker sees it."""

    def __init__(self, on_output: Callable[[str], None] | None) -> None:
        self.on_output = on_output
        self.outcome: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()


class Attachment(asyncio.Protocol):
    """A connection to a runner under a nonce of its own. What the runner says is not trusted."""

    def __init__(self) -> None:
        self._nonce = secrets.token_hex(8)
        self._parser = Parser()
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._watches: dict[str, list[Watch]] = {}
        self._transport: asyncio.Transport | None = None
        self._gone: PacaError | None = None
        self._over = asyncio.Event()
        self.boot_id = ""
        self.resumed = False  # it was paused, and goes on since it was opened

    @classmethod
    async def over(
        cls,
        connected: socket.socket,
        *,
        epoch: int,
        seconds: float,
        orphan_seconds: float | None = None,
    ) -> "Attachment":
        """Attach over a connected socket. Raises ``Superseded``, ``SandboxGone`` or ``TimeoutError``."""
        _, attachment = await asyncio.get_running_loop().create_connection(cls, sock=connected)
        await attachment.attach(epoch=epoch, seconds=seconds, orphan_seconds=orphan_seconds)
        return attachment

    async def attach(
        self, *, epoch: int, seconds: float, orphan_seconds: float | None = None
    ) -> None:
        """Become the one worker that the runner answers. Left alone for ``orphan_seconds`` it ends; without
        them after as long as before."""
        try:
            async with asyncio.timeout(seconds):
                welcome = await self.request("attach", epoch=epoch, orphan_seconds=orphan_seconds)
        except BaseException:
            self.close()
            raise
        self.boot_id = str(welcome["boot_id"])

    @property
    def lost(self) -> bool:
        return self._gone is not None

    async def ended(self) -> None:
        """Return once it is over, whoever ended it."""
        await self._over.wait()

    async def request(self, op: str, **fields: Any) -> Any:
        """Ask and wait for the answer; raises the exception that the runner's refusal names."""
        if self._gone is not None or self._transport is None:
            raise self._gone or workspace.SandboxGone()
        number = next(self._numbers)
        frame = encode(self._nonce, {"op": op, "id": number, **fields})
        if len(frame) > MAX_FRAME:
            raise workspace.FileTooLarge()
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await answer
        except TimeoutError:
            # Lost, so that it is opened anew: one that stands still then goes on, or is replaced.
            silent = workspace.SandboxGone("The sandbox does not answer.")
            self._end(silent)
            self._transport.abort()
            raise silent from None
        finally:
            self._answers.pop(number, None)

    async def follow(
        self, op: str, call_id: str, on_output: Callable[[str], None] | None, **fields: Any
    ) -> dict[str, Any]:
        """Make a request that begins or attaches to a call, and wait for the call's end."""
        watch = Watch(on_output)
        self._watches.setdefault(call_id, []).append(watch)
        try:
            begun = await self.request(op, call_id=call_id, **fields)
            async with asyncio.timeout(float(begun["seconds"]) + ANSWER_SECONDS):
                return await watch.outcome
        except TimeoutError:
            raise workspace.SandboxGone("The sandbox does not answer.") from None
        finally:
            self._forget(call_id, watch)

    def _forget(self, call_id: str, watch: Watch) -> None:
        watches = self._watches.get(call_id, [])
        if watch in watches:
            watches.remove(watch)
        if not watches:
            self._watches.pop(call_id, None)
        if watch.outcome.done() and not watch.outcome.cancelled():
            watch.outcome.exception()  # seen, even if nobody waits for it any more

    def close(self) -> None:
        """Let go; the runner and its calls live on."""
        self._end(workspace.SandboxGone("This worker has let go of the sandbox."))
        if self._transport is not None:
            self._transport.close()

    # --- asyncio.Protocol -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(SPOIL)

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def _take(self, data: bytes) -> None:
        for nonce, message in self._parser.feed(data):
            if nonce == self._nonce:
                self._heard(message)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(workspace.SandboxGone())

    def _heard(self, message: dict[str, Any]) -> None:
        if "re" in message:
            self._answered(message)
        elif "call" in message:
            for watch in list(self._watches.get(str(message["call"]), ())):
                _news(watch, message)
        elif message.get("superseded"):
            self._end(Superseded())

    def _answered(self, message: dict[str, Any]) -> None:
        answer = self._answers.get(message["re"]) if isinstance(message["re"], int) else None
        if answer is None or answer.done():
            return
        if "ok" in message:
            answer.set_result(message["ok"])
        else:
            answer.set_exception(_error(message.get("error")))

    def _end(self, error: PacaError) -> None:
        if self._gone is not None:
            return
        self._gone = error
        self._over.set()
        watches = [watch.outcome for found in self._watches.values() for watch in found]
        for waiting in (*self._answers.values(), *watches):
            if not waiting.done():
                waiting.set_exception(error)


def _news(watch: Watch, message: dict[str, Any]) -> None:
    text, ended = message.get("text"), message.get("ended")
    if isinstance(text, str) and watch.on_output is not None:
        watch.on_output(text)
    if isinstance(ended, dict) and not watch.outcome.done():
        watch.outcome.set_result(ended)


def _error(error: Any) -> PacaError:
    found = error if isinstance(error, dict) else {}
    cls = ERRORS.get(str(found.get("code")), workspace.WorkspaceError)
    return cls(str(found.get("detail") or "")[:DETAIL_LIMIT] or None)
