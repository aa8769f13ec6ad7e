"""The body size limit: a larger body is refused while it arrives, and not stored."""

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from paca.web.middleware.body_size_limit import BodySizeLimit
from tests.support.live_server import LiveServer, running

MOST = 1000


@pytest.fixture
def came() -> list[int]:
    """The lengths of the bodies that the application received whole."""
    return []


@pytest.fixture
def server(came: list[int]) -> Iterator[LiveServer]:
    async def application(
        scope: Any, receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        length, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            length += len(message.get("body", b""))
            more = message.get("more_body", False)
        came.append(length)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def by_kind(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await BodySizeLimit(application, lambda _: MOST)(scope, receive, send)
            return
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    with running(by_kind) as live:
        yield live


def post(server: LiveServer, body: Any, **more: Any) -> tuple[int, Any]:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        line.request("POST", "/", body, **more)
        answer = line.getresponse()
        said = answer.read()
    finally:
        line.close()
    if not said:
        return answer.status, None
    error = json.loads(said)
    assert error["request_id"] == answer.headers["X-Request-ID"] != ""
    return answer.status, error["code"]


def test_body_within_the_limit_arrives_whole(server: LiveServer, came: list[int]):
    assert post(server, bytes(MOST)) == (204, None)
    assert post(server, iter([bytes(MOST // 2)] * 2), encode_chunked=True) == (204, None)
    assert came == [MOST, MOST]


def test_body_with_a_too_large_content_length_is_refused(server: LiveServer, came: list[int]):
    assert post(server, bytes(MOST + 1)) == (413, "too_large")
    assert came == []


def test_body_above_the_limit_is_refused_while_it_arrives(server: LiveServer, came: list[int]):
    pieces = iter([bytes(MOST // 2)] * 3)
    assert post(server, pieces, encode_chunked=True) == (413, "too_large")
    assert came == []
    assert post(server, b"sound") == (204, None)


def status_on(line: socket.socket) -> int:
    """The status of the next response on the connection, which is read whole."""
    answer = http.client.HTTPResponse(line)
    answer.begin()
    answer.read()
    return answer.status


@pytest.mark.parametrize("chunked", [False, True])
def test_refusal_reaches_a_client_that_sends_its_whole_body_first(
    server: LiveServer, came: list[int], chunked: bool
):
    """As nginx does. A connection that is closed with unread bytes would be reset, and the answer lost."""
    body = bytes(4 * 1024 * 1024)
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
            line.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n".encode() + sent)
            assert status_on(line) == 413
            line.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
            assert status_on(line) == 204
    assert came == [1] * 5


@pytest.mark.parametrize(
    "header", [f"Content-Length: {1 << 40}", "Content-Length: 2000\r\nExpect: 100-continue"]
)
def test_refusal_does_not_wait_for_a_huge_body_or_for_one_that_waits(
    server: LiveServer, header: str
):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n".encode())
        answer = line.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"connection: close" in answer
