"""One connection of the scripted model server: the part of HTTP/1.1 that clients need, and every fault."""

import asyncio
import json
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support import anthropic_dialect, model_routes, openai_dialect
from tests.support.model_script import Raw, Scripted

if TYPE_CHECKING:
    from tests.support.model_server import ModelServer

LONGEST_HOLD_SECONDS = 60
HTML = b"<!doctype html><html><body><h1>Sign in to the guest network</h1></body></html>"


@dataclass(frozen=True)
class Received:
    """A request as it was received. Its properties are the same in Anthropic's and OpenAI's dialect."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes
    dialect: Any
    at: float = field(default_factory=time.monotonic)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages without the system prompt."""
        found: list[dict[str, Any]] = self.dialect.conversation(self.body)
        return found

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Role and text of each message; results of tools are no texts."""
        return [(message["role"], self.dialect.text_of(message)) for message in self.messages]

    @property
    def system(self) -> Any:
        """The system prompt, as it was sent."""
        return self.dialect.system_of(self.body)


class Connection(asyncio.Protocol):
    """Answers one request at a time over HTTP/1.1."""

    transport: asyncio.Transport

    def __init__(self, server: "ModelServer") -> None:
        self.server = server
        self.buffer = b""
        self.task: asyncio.Task[None] | None = None
        self.dialect: Any = anthropic_dialect

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.server.connections += 1
        self.server.open_connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.server.open_connections.discard(self)
        if self.task is not None and not self.task.done():
            self.server.closed_by_client += 1
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.buffer[:1].isalpha():
            # The answer of a server to a client that speaks TLS.
            self.transport.write(b"HTTP/1.1 400 X\r\n\r\n")
            self.transport.close()
            return
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
        method, path, _ = first.split(" ", 2)
        given = headers.get("authorization") or headers.get("api-key") or ""
        self.key = given.removeprefix("Bearer ")
        if method == "GET":
            self.list_models(path, headers)
            return
        self.task = asyncio.get_running_loop().create_task(
            self.answer(path, headers, rest[:length])
        )

    def list_models(self, path: str, headers: dict[str, str]) -> None:
        """Answer with the list of models, as OpenAI's servers do."""
        self.server.listed += 1
        if not path.endswith("/v1/models") or self.server.served is None:
            self.respond(404, b"Not found", {"content-type": "text/plain"})
        elif self.server.wants_key and self.key != self.server.wants_key:
            self.respond(401, openai_dialect.error_body("invalid_api_key", "Incorrect API key."))
        else:
            kind = self.server.served_object
            listed = [{"id": name, "object": kind} for name in self.server.served]
            self.respond(200, json.dumps({"object": "list", "data": listed}).encode())

    async def answer(self, path: str, headers: dict[str, str], raw: bytes) -> None:
        self.server.in_flight += 1
        try:
            dialect = model_routes.dialect_of(path)
            if dialect is None:
                self.respond(404, b"Not found", {"content-type": "text/plain"})
                return
            body = json.loads(raw)
            if self.server.record:
                self.server.requests.append(Received(path, headers, body, raw, dialect))
            self.dialect = dialect
            wrong = list(dialect.problems(body))
            self.server.violations.extend(wrong)
            refused = "; ".join(wrong) or dialect.foreign_thinking(body)
            if refused:
                self.respond(400, dialect.error_body("invalid_request_error", refused))
                return
            await self.reply(self.server.next_reply(body, dialect), body, len(raw) // 4)
        # A fault of the script or of the request is answered: an open connection would look like a slow model.
        except (AttributeError, AssertionError, LookupError, TypeError, ValueError) as error:
            self.server.violations.append(repr(error))
            wrong_request = self.dialect.error_body("invalid_request_error", repr(error))
            self.respond(400, wrong_request)
        finally:
            self.server.in_flight -= 1

    async def reply(self, reply: Scripted | Raw, body: dict[str, Any], tokens: int) -> None:
        if isinstance(reply, Raw):
            await self.raw(reply)
            return
        if reply.held_by is not None:
            assert await asyncio.to_thread(reply.held_by.wait, LONGEST_HOLD_SECONDS), "never let go"
        dialect = self.dialect
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
        self.start_stream(reply.content_type, reply.status)
        self.chunk(reply.data)
        await asyncio.sleep(0.005)  # written bytes leave before the end
        if reply.end == "clean":
            self.end_stream()
        elif reply.end == "close":
            self.transport.close()
        else:
            self.reset()

    async def stream(self, reply: Scripted, body: dict[str, Any], tokens: int) -> None:
        """``tokens``: as many as the request has, which a reply without ``input_tokens`` reports."""
        tokens = max(tokens, 100)
        self.start_stream()
        dialect = self.dialect
        opening = dialect.opening(reply, body, tokens)
        if not reply.first_token_ms and not reply.tokens_per_second and not reply.fault:
            # One write: a bench measures its client, not this server.
            parts = [
                opening,
                *dialect.content(reply, body.get("model", ""), grain=64),
                dialect.closing(reply, tokens),
            ]
            self.chunk(b"".join(parts))
            self.end_stream()
            return
        self.chunk(opening)
        await asyncio.sleep(reply.first_token_ms / 1000)
        frames = list(dialect.content(reply, body.get("model", ""), grain=4))
        marks = (dialect.TEXT_MARK, dialect.ARGUMENTS_MARK, dialect.THOUGHT_MARK)
        pause = 1 / reply.tokens_per_second if reply.tokens_per_second else 0
        for one in frames[: _frames_before_fault(reply.fault, frames, dialect)]:
            self.chunk(one)
            if pause and any(mark in one for mark in marks):
                await asyncio.sleep(pause)
        await self.end_with(reply, tokens)

    async def end_with(self, reply: Scripted, tokens: int) -> None:
        match reply.fault:
            case "midover" | "midrate":
                self.chunk(self.dialect.stream_error(reply.fault))
                self.end_stream()
            case "stall":
                await asyncio.Event().wait()
            case "reset":
                await asyncio.sleep(0.02)  # written bytes leave before the reset
                self.reset()
            case "cut" | "cuttool" | "nostop":
                self.end_stream()
            case _:
                self.chunk(self.dialect.closing(reply, tokens))
                self.end_stream()

    # --- bytes ---

    def respond(self, status: int, body: bytes, extra: dict[str, str] | None = None) -> None:
        headers = {"content-type": "application/json", **(extra or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} X\r\n{lines}content-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)

    def start_stream(
        self, content_type: str = "text/event-stream; charset=utf-8", status: int = 200
    ) -> None:
        self.transport.write(
            f"HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\n".encode()
            + b"transfer-encoding: chunked\r\nrequest-id: req_test\r\n\r\n"
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


def _frames_before_fault(fault: str, frames: list[bytes], dialect: Any) -> int:
    """How many frames of the content are sent before the fault."""
    if fault in ("cut", "reset", "stall", "midover", "midrate"):
        texts = [n for n, one in enumerate(frames) if dialect.TEXT_MARK in one]
        return texts[len(texts) // 2] + 1 if texts else 1
    if fault == "cuttool":
        inputs = [n for n, one in enumerate(frames) if dialect.ARGUMENTS_MARK in one]
        return inputs[len(inputs) // 2] + 1
    return len(frames)
