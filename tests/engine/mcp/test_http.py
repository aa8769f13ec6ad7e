"""Servers over HTTP: both revisions of the protocol, and what the guarded client refuses."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace

import httpx2
import pytest

from paca.engine.mcp import http_transport, probe
from paca.engine.mcp.errors import ServerUnavailable
from paca.engine.mcp.settings import McpServerSettings, SignInNeeded
from tests.engine.mcp.test_servers import Run
from tests.support.mcp_http_server import HttpServer

ANSWERS = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "raw", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "find", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "found"}]},
}


class RawServer:
    """An HTTP server of a few lines, which does what ``fault`` says. ``seen`` are the headers of its requests."""

    def __init__(self) -> None:
        self.fault = ""
        self.seen: list[dict[str, str]] = []
        self.calls = 0

    async def __aenter__(self) -> RawServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.seen.append(headers)
            writer.write(self._answer(headers, json.loads(body or b"{}")))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, headers: dict[str, str], asked: dict) -> bytes:
        method = asked.get("method", "")
        self.calls += method == "tools/call"
        if "id" not in asked:
            return response(202, b"")
        if self.fault in REFUSALS:
            return REFUSALS[self.fault]
        if self.fault == "sign in" and headers.get("authorization") != "bearer token-2":
            return response(401, b"")
        if method == "tools/call" and self.fault == "repeats":
            return response(200, told(asked, headers["authorization"]))
        if method == "tools/call" and (self.fault != "expired" or self.calls == 1):
            fault, self.fault = self.fault, "" if self.fault == "expired" else self.fault
            return CALL_FAULTS.get(fault, lambda body: response(200, body))(body_of(asked))
        session = {"Mcp-Session-Id": "abc"} if method == "initialize" else {}
        body = body_of(asked)
        if self.fault == "compressed":
            return response(200, gzip.compress(body), **{"Content-Encoding": "gzip"})
        return response(200, body, **session)


def body_of(asked: dict) -> bytes:
    method = asked["method"]
    if method not in ANSWERS:
        return message(asked, error={"code": -32601, "message": "no such method"})
    return message(asked, result=ANSWERS[method])


def told(asked: dict, text: str) -> bytes:
    return message(asked, result={"content": [{"type": "text", "text": text}]})


def message(asked: dict, **answer: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}).encode()


def response(status: int, body: bytes, **headers: str) -> bytes:
    given = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [f"{name}: {value}" for name, value in (given | headers).items()]
    return "\r\n".join([f"HTTP/1.1 {status} X", *lines, "", ""]).encode() + body


REFUSALS = {
    "redirect": response(307, b"", Location="/other"),
    "status": response(503, b"{}"),
    "html": response(200, b"<html>", **{"Content-Type": "text/html"}),
}
CALL_FAULTS = {
    "large": lambda body: response(200, b" " * (9 << 20) + body),
    "no json": lambda body: response(200, b'{"jsonrpc": "2.0", "id"'),
    "expired": lambda body: response(404, b""),
}


@pytest.fixture
async def run(anyio_backend) -> AsyncIterator[Run]:
    made = Run()
    yield made
    await made.group.close()


@pytest.fixture
async def raw(anyio_backend) -> AsyncIterator[RawServer]:
    async with RawServer() as server:
        yield server


@pytest.fixture(params=[False, True], ids=["http", "sse"])
def web(request) -> Iterator[HttpServer]:
    with HttpServer(sse=request.param) as server:
        yield server


def settings(url: str, transport: str = "http", **options: object) -> McpServerSettings:
    given = {"private_allowed": True} | options
    return McpServerSettings("web", "web", transport, url=url, **given)  # type: ignore[arg-type]


async def test_both_transports_and_revisions_work(run, web):
    sse = web.url.endswith("sse")
    run.servers.add(settings(web.url, "sse" if sse else "http", call_seconds=30))
    assert not await run.begin_turn()
    connection = run.group._connections["web"]
    session = await connection.session()
    assert session.protocol_version == ("2025-11-25" if sse else "2026-07-28")
    assert (await run.call("mcp__web__add", a=2, b=3)).output == "5"
    usual, connection.settings = connection.settings, replace(connection.settings, call_seconds=0.5)
    assert (await run.call("mcp__web__slow", seconds=60)).cause == "timed_out"
    connection.settings = usual
    assert (await run.call("mcp__web__add", a=2, b="x")).failed
    assert (await run.call("mcp__web__add", a=3, b=3)).output == "6"


async def test_an_older_server_gets_its_headers_and_no_request_to_compress(run, raw):
    run.servers.add(settings(raw.url, headers={"X-Key": "abc"}))
    assert not await run.begin_turn()
    assert (await run.call("mcp__web__find")).output == "found"
    assert all(each["x-key"] == "abc" for each in raw.seen)
    assert all(each["accept-encoding"] == "identity" for each in raw.seen)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("redirect", "it redirects to another address; enter that one if it is right"),
        ("compressed", "it sends compressed answers, although it was asked not to"),
        ("status", "it answers HTTP 503"),
        ("html", "Unexpected content type: text/html"),
    ],
)
async def test_what_the_client_refuses_is_said(run, raw, fault, why):
    raw.fault = fault
    run.servers.add(settings(raw.url))
    (told,) = await run.begin_turn()
    assert told.error == why


@pytest.mark.parametrize(
    ("fault", "why"),
    [("large", "its answer is longer than 8 MiB"), ("no json", "Failed to parse JSON response")],
)
async def test_a_bad_answer_to_a_call_is_a_result(run, raw, fault, why):
    run.servers.add(settings(raw.url))
    await run.begin_turn()
    raw.fault = fault
    found = await run.call("mcp__web__find")
    assert found.failed
    assert why in found.output
    raw.fault = ""
    assert (await run.call("mcp__web__find")).output == "found"


async def test_a_session_that_the_server_has_forgotten_is_begun_again(run, raw):
    run.servers.add(settings(raw.url))
    await run.begin_turn()
    raw.fault = "expired"
    assert (await run.call("mcp__web__find")).output == "found"
    assert raw.calls == 2


async def test_a_refused_token_is_renewed_once(run, raw):
    raw.fault = "sign in"
    run.servers.add(settings(raw.url, uses_oauth=True))
    assert not await run.begin_turn()
    assert run.servers.tokens == ["", "token-1"]


async def test_a_token_that_its_server_repeats_is_in_no_result(run, raw):
    async def token(server: McpServerSettings, refused: str = "") -> str:
        return "a-token-of-this-turn"

    run.servers.access_token = token  # type: ignore[method-assign]
    run.servers.add(settings(raw.url, uses_oauth=True))
    await run.begin_turn()
    raw.fault = "repeats"
    assert (await run.call("mcp__web__find")).output == "bearer ***"


async def test_a_server_that_needs_a_sign_in_says_so(run, raw):
    async def no_token(server: McpServerSettings, refused: str = "") -> str:
        raise SignInNeeded

    run.servers.access_token = no_token  # type: ignore[method-assign]
    run.servers.add(settings(raw.url, uses_oauth=True))
    (told,) = await run.begin_turn()
    assert "sign in" in told.error
    assert run.servers.reports[-1][1] == "sign_in_needed"


async def test_a_private_address_is_refused(run, raw):
    run.servers.add(settings(raw.url, private_allowed=False))
    (told,) = await run.begin_turn()
    assert "private network" in told.error
    assert not raw.seen


async def test_an_address_where_nothing_listens_is_told(run):
    run.servers.add(settings("http://127.0.0.1:9/mcp"))
    (told,) = await run.begin_turn()
    assert told.error == "it cannot be reached: nothing accepts connections there"


async def test_a_probe_gives_the_offer_or_says_why_there_is_none(raw, anyio_backend):
    found = await probe.offer_of(settings(raw.url), access_token=None, seconds=30)
    assert [tool.name for tool in found.tools] == ["find"]
    raw.fault = "status"
    with pytest.raises(ServerUnavailable, match="HTTP 503"):
        await probe.offer_of(settings(raw.url), access_token=None, seconds=30)


def guarded(
    monkeypatch: pytest.MonkeyPatch, answers: Callable[[httpx2.Request], httpx2.Response], **facts
):
    """A guarded transport of a network that answers so."""
    made = http_transport.GuardedTransport(
        **{"private_allowed": True, "access_token": None} | facts
    )

    async def send(request: httpx2.Request) -> httpx2.Response:
        return answers(request)

    monkeypatch.setattr(made, "_send", send)
    return made


async def test_streams_that_a_server_breaks_off_are_not_begun_for_ever(monkeypatch, anyio_backend):
    monkeypatch.setattr(http_transport, "MAX_STREAMS", 3)
    transport = guarded(monkeypatch, lambda request: httpx2.Response(200, content=b""))
    for _ in range(3):
        await transport.handle_async_request(httpx2.Request("GET", "https://mcp.example/"))
    with pytest.raises(http_transport.AnswerRefused, match="breaks its streams off"):
        await transport.handle_async_request(httpx2.Request("GET", "https://mcp.example/"))
    await transport.handle_async_request(httpx2.Request("POST", "https://mcp.example/"))


async def test_a_stream_of_ever_more_events_is_ended(monkeypatch, anyio_backend):
    monkeypatch.setattr(http_transport, "MAX_STREAM_LINES", 10)
    headers = {"Content-Type": "text/event-stream"}
    transport = guarded(
        monkeypatch, lambda request: httpx2.Response(200, headers=headers, content=b":\n\n" * 6)
    )
    request = httpx2.Request("GET", "https://mcp.example/")
    response = await transport.handle_async_request(request)
    with pytest.raises(http_transport.AnswerRefused, match="writes without end"):
        await httpx2.Response(200, stream=response.stream, request=request).aread()


async def test_what_a_server_sends_unasked_counts_over_all_its_streams(monkeypatch, anyio_backend):
    monkeypatch.setattr(http_transport, "MAX_STREAM_LINES", 10)
    headers = {"Content-Type": "text/event-stream"}
    transport = guarded(
        monkeypatch, lambda request: httpx2.Response(200, headers=headers, content=b":\n" * 6)
    )

    async def read(method: str) -> bytes:
        request = httpx2.Request(method, "https://mcp.example/")
        stream = (await transport.handle_async_request(request)).stream
        return await httpx2.Response(200, stream=stream, request=request).aread()

    for method in ("POST", "GET", "POST"):
        assert len(await read(method)) == 12
    with pytest.raises(http_transport.AnswerRefused, match="writes without end"):
        await read("GET")


async def test_a_token_that_another_request_has_renewed_is_not_renewed_again(
    monkeypatch, anyio_backend
):
    refused: list[str] = []

    async def access_token(old: str) -> str:
        refused.append(old)
        return f"token-{len(refused)}"

    def answers(request: httpx2.Request) -> httpx2.Response:
        old = request.headers["Authorization"] == "Bearer token-1"
        if old:  # another request is refused too, and has its new token before this one
            transport._token = "token-2"
        return httpx2.Response(401 if old else 200, content=b"")

    transport = guarded(monkeypatch, answers, access_token=access_token)
    answer = await transport.handle_async_request(httpx2.Request("POST", "https://mcp.example/"))
    assert (answer.status_code, refused) == (200, [""])


class EndlessPages:
    """A session whose server has ever more pages with tools. ``asked`` are the pages that were read."""

    def __init__(self) -> None:
        self.asked = 0

    async def list_tools(self, params: object) -> object:
        import mcp_types

        self.asked += 1
        tools = [mcp_types.Tool(name=f"t{self.asked}", input_schema={})] * 150
        return mcp_types.ListToolsResult(tools=tools, next_cursor=str(self.asked))


async def test_a_list_of_tools_without_end_is_read_no_further_than_needed(anyio_backend):
    from paca.engine.mcp import sdk

    pages = EndlessPages()
    session = sdk.SdkSession(pages, sdk._SessionState(problem=str))  # type: ignore[arg-type]
    checked = await session._list_tools()
    assert [tool.name for tool in checked.tools] == ["t1", "t2"]
    assert pages.asked == 2
