"""Connections of uvicorn: what each waits for, so that a client holds no place that others need."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import raw_http
from tests.support.flow import wait_until
from tests.support.live_server import LiveServer, running

LARGE = b"x" * (16 << 20)  # more than the buffers of two kernels


class Application:
    """Tells the names of the headers; the answer of ``/large`` takes long to read; sockets are refused."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.loop = asyncio.get_running_loop()
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            return
        self.paths.append(scope["path"])
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": 4401})
            return
        while (await receive()).get("more_body"):
            pass
        headers = b",".join(name for name, _ in scope["headers"])
        body = LARGE if scope["path"] == "/large" else headers
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body})


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def server(application: Application) -> Iterator[LiveServer]:
    with running(application) as live:
        yield live


def closes_one(server: LiveServer, application: Application) -> bool:
    """Whether the server finds a connection that it may close for a new one."""

    async def close_one() -> bool:
        return server.server.table.close_one()

    return asyncio.run_coroutine_threadsafe(close_one(), application.loop).result(10)


def test_trailers_of_a_request_are_no_headers(server):
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = raw_http.exchange(
        server.port, head + b"1\r\na\r\n0\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n"
    )
    assert answer.endswith(b"\r\n\r\nhost,connection,transfer-encoding")


def test_client_that_does_not_read_holds_no_place_by_asking_again(server, application):
    with raw_http.connect(server.port) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(1)
        client.sendall(b"GET /again HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: "/again" in application.paths)
        assert closes_one(server, application)


def test_closed_socket_gives_its_place_to_a_new_connection(server, application):
    with raw_http.connect(server.port) as stranger:
        stranger.sendall(raw_http.HANDSHAKE + b"\r\n")
        while b"\x88" not in stranger.recv(1024):
            pass
        wait_until(lambda: closes_one(server, application))
