"""A scripted model server over real HTTP, for tests, benches and manual runs.

``with ModelServer() as server:`` starts it in its own thread on a free port. Replies come from
``server.script(...)``, from a ``[[fake ...]]`` directive in a user's message, or are a plain answer.
As a program: ``python -m tests.support.model_server --port 9000``.
"""

import argparse
import asyncio
import contextlib
import json
import socket
import struct
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from tests.support import anthropic_dialect as dialect
from tests.support.model_script import Directive, Raw, Scripted, says

PROGRAM = Callable[[dict[str, Any]], Scripted | Raw]
HTML = b"<!doctype html><html><body><h1>Sign in to the guest network</h1></body></html>"


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes
    at: float = field(default_factory=time.monotonic)


class ModelServer:
    """The server, what it was told to say, and what it saw."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.requests: list[Received] = []
        self.violations: list[str] = []
        self.in_flight = 0
        self.closed_by_client = 0
        self.connections = 0
        self.record = True  # off in long benches, where keeping each body would cost memory
        self._queue: deque[Scripted | Raw] = deque()
        self._queues: dict[str, deque[Scripted | Raw]] = {}
        self._program: PROGRAM | None = None
        self._faults: Counter[tuple[str, int, int]] = Counter()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="model-server", daemon=True)

    # --- what to say ---

    def script(self, replies: Iterable[Scripted | Raw] | PROGRAM, *, to: str | None = None) -> Self:
        """Say these, one a request; with ``to`` only in conversations whose first message holds it.

        A callable is asked at each request.
        """
        if callable(replies):
            self._program = replies
        elif to is None:
            self._queue = deque(replies)
        else:
            self._queues[to] = deque(replies)
        return self

    def next_reply(self, body: dict[str, Any]) -> Scripted | Raw:
        if self._program is not None:
            return self._program(body)
        first = dialect.text_of(body["messages"][0])
        for mark, queue in self._queues.items():
            if mark in first and queue:
                return queue.popleft()
        if self._queue:
            return self._queue.popleft()
        return self._as_directed(first, body["messages"])

    def _as_directed(self, first: str, messages: list[dict[str, Any]]) -> Scripted:
        """What the newest directive asks for, until its turns are over; then a plain answer."""
        asked = [(n, dialect.text_of(m)) for n, m in enumerate(messages) if m["role"] == "user"]
        directed = [(n, found) for n, text in asked if (found := Directive.found_in(text))]
        newest = next((text for _, text in reversed(asked) if text), "")
        plain = says(f"You said: {newest[:200]}")
        if not directed:
            return plain
        at, directive = directed[-1]
        since = [m for m in messages[at:] if m["role"] == "assistant"]
        turn = sum(map(dialect.is_tool_turn, since))
        if turn >= directive.turns and len(since) > turn:
            return plain
        for number, fault in enumerate(directive.faults):
            key = (f"{at}:{first}", turn, number)
            if fault.turn in (None, turn) and self._faults[key] < fault.times:
                self._faults[key] += 1
                return directive.broken(turn, fault.kind)
        return directive.reply(turn)

    # --- life ---

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the model server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)

    def wait_until_idle(self, seconds: float = 1.0) -> bool:
        """True once no answer is in flight, False if that takes longer than ``seconds``."""
        return _wait(lambda: self.in_flight == 0, seconds)

    def wait_until_busy(self, seconds: float = 5.0) -> bool:
        """True once an answer is in flight."""
        return _wait(lambda: self.in_flight > 0, seconds)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main())
        self._loop.close()

    async def _main(self) -> None:
        self._stopping = asyncio.Event()
        self._open: set[_Connection] = set()
        server = await self._loop.create_server(lambda: _Connection(self), "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        tasks = [c.task for c in self._open if c.task is not None]
        for connection in list(self._open):
            connection.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """HTTP/1.1, one request at a time: enough of it for the clients we have."""

    transport: asyncio.Transport

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.buffer = b""
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.server.connections += 1
        self.server._open.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.server._open.discard(self)
        if self.task is not None and not self.task.done():
            self.server.closed_by_client += 1
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.split(":", 1) for line in lines)
        headers = {name.lower(): value.strip() for name, value in pairs}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        _, path, _ = first.split(" ", 2)
        self.key = headers.get("authorization", "").removeprefix("Bearer ")
        self.task = asyncio.get_running_loop().create_task(
            self.answer(path, headers, rest[:length])
        )

    async def answer(self, path: str, headers: dict[str, str], raw: bytes) -> None:
        self.server.in_flight += 1
        try:
            if path.partition("?")[0] != dialect.PATH:
                self.respond(404, b"Not found", {"content-type": "text/plain"})
                return
            body = json.loads(raw)
            if self.server.record:
                self.server.requests.append(Received(path, headers, body, raw))
            wrong = list(dialect.problems(body))
            self.server.violations.extend(wrong)
            refused = "; ".join(wrong) or dialect.foreign_thinking(body)
            if refused:
                self.respond(400, dialect.error_body("invalid_request_error", refused))
                return
            await self.reply(self.server.next_reply(body), body, len(raw) // 4)
        except (ValueError, LookupError, TypeError) as error:  # of the script or of the request
            self.server.violations.append(repr(error))
            self.respond(400, dialect.error_body("invalid_request_error", repr(error)))
        finally:
            self.server.in_flight -= 1

    async def reply(self, reply: Scripted | Raw, body: dict[str, Any], tokens: int) -> None:
        if isinstance(reply, Raw):
            await self.raw(reply)
            return
        if reply.fault in dialect.HTTP_ERRORS:
            status, kind, message = dialect.HTTP_ERRORS[reply.fault]
            extra = {"retry-after": reply.retry_after} if reply.retry_after else {}
            if reply.fault == "redirect":
                extra["location"] = "http://elsewhere.invalid/v1/messages"
            key = self.key
            self.respond(status, dialect.error_body(kind, message.format(key=key)), extra)
        elif reply.fault == "html":
            self.respond(200, HTML, {"content-type": "text/html"})
        elif reply.fault == "hang":
            await asyncio.Event().wait()
        else:
            await self.stream(reply, body, tokens)

    async def raw(self, reply: Raw) -> None:
        self.start_stream()
        self.chunk(reply.data)
        await asyncio.sleep(0.005)  # lets what was written leave before the end
        if reply.end == "clean":
            self.end_stream()
        elif reply.end == "close":
            self.transport.close()
        else:
            self.reset()

    async def stream(self, reply: Scripted, body: dict[str, Any], tokens: int) -> None:
        self.start_stream()
        opening = dialect.opening(reply, body, tokens)
        if not reply.first_token_ms and not reply.tokens_per_second and not reply.fault:
            # One write: a bench measures its client, not this server.
            parts = [
                opening,
                *dialect.content(reply, body["model"], grain=64),
                dialect.closing(reply),
            ]
            self.chunk(b"".join(parts))
            self.end_stream()
            return
        self.chunk(opening)
        await asyncio.sleep(reply.first_token_ms / 1000)
        frames = list(dialect.content(reply, body["model"], grain=4))
        pause = 1 / reply.tokens_per_second if reply.tokens_per_second else 0
        for one in frames[: _how_many(reply.fault, frames)]:
            self.chunk(one)
            if pause and b"_delta" in one:
                await asyncio.sleep(pause)
        await self.end_with(reply)

    async def end_with(self, reply: Scripted) -> None:
        match reply.fault:
            case "midover" | "midrate":
                kind, message = dialect.STREAM_ERRORS[reply.fault]
                error = {"type": kind, "message": message}
                self.chunk(dialect.frame("error", error=error))
                self.end_stream()
            case "stall":
                await asyncio.Event().wait()
            case "reset":
                await asyncio.sleep(0.02)  # lets what was written leave before the reset
                self.reset()
            case "cut" | "cuttool" | "nostop":
                self.end_stream()
            case _:
                self.chunk(dialect.closing(reply))
                self.end_stream()

    # --- bytes ---

    def respond(self, status: int, body: bytes, extra: dict[str, str] | None = None) -> None:
        headers = {"content-type": "application/json", **(extra or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} X\r\n{lines}content-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)

    def start_stream(self) -> None:
        self.transport.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            b"transfer-encoding: chunked\r\nrequest-id: req_test\r\n\r\n"
        )

    def chunk(self, data: bytes) -> None:
        if data:  # an empty chunk is the end mark
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        self.transport.write(b"0\r\n\r\n")

    def reset(self) -> None:
        """Close with RST, as a crashed proxy does."""
        raw: socket.socket = self.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < until:
        time.sleep(0.005)
    return met


def _how_many(fault: str, frames: list[bytes]) -> int:
    """How many frames of the content go out before the fault shows."""
    if fault in ("cut", "reset", "stall", "midover", "midrate"):
        texts = [n for n, one in enumerate(frames) if b'"text_delta"' in one]
        return texts[len(texts) // 2] + 1 if texts else 1
    if fault == "cuttool":
        inputs = [n for n, one in enumerate(frames) if b'"input_json_delta"' in one]
        return inputs[len(inputs) // 2] + 1
    return len(frames)


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model server.")
    parser.add_argument("--port", type=int, default=9000)
    with ModelServer(parser.parse_args().port) as server:
        sys.stdout.write(f"base URL {server.base_url}; any key; Ctrl-C ends it\n")
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)


if __name__ == "__main__":
    main()
