"""The body size limit: a larger body is refused while it arrives, and not stored."""

import http.client
import json
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
