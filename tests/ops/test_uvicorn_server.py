"""Start and end of the web server: ready, worker drained, sockets closed, ended."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

# A program that serves a socket which says "worker" when the worker begins to drain.
PROGRAM = textwrap.dedent(
    """
    import asyncio, socket, sys, time
    from paca.ops.uvicorn import server

    drain_seconds = float(sys.argv[1])
    draining = asyncio.Event()

    async def application(scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            scope["state"]["loop"] = asyncio.get_running_loop()
            global loop
            loop = asyncio.get_running_loop()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            print("lifespan ended", flush=True)
            await send({"type": "lifespan.shutdown.complete"})
            return
        await receive()
        await send({"type": "websocket.accept"})
        if scope["path"] == "/bye":
            await send({"type": "websocket.close", "code": 4401})
            return
        await send({"type": "websocket.send", "text": "hello"})
        await draining.wait()
        await send({"type": "websocket.send", "text": "the worker has stored its last event"})
        await receive()

    def drain():
        print("draining", flush=True)
        loop.call_soon_threadsafe(draining.set)
        if drain_seconds:
            time.sleep(drain_seconds)
        else:
            sys.stdin.readline()  # the test says when
        print("drained", flush=True)

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server.serve(
        listener,
        application=application,
        on_ready=lambda: print(port, flush=True),
        before_stop=drain,
    )
    print("served", flush=True)
    """
)


@contextmanager
def program(drain_seconds: float = 0.3) -> Iterator[tuple[subprocess.Popen, str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(drain_seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
    )
    try:
        port = process.stdout.readline().strip()
        assert port, process.stderr.read()
        yield process, f"ws://127.0.0.1:{port}/"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_drains_the_worker_then_closes_sockets_with_1012_then_returns(number):
    with program() as (process, url), connect(url) as page:
        assert page.recv(timeout=60) == "hello"
        process.send_signal(number)
        assert page.recv(timeout=60) == "the worker has stored its last event"
        with pytest.raises(ConnectionClosed) as closed:
            page.recv(timeout=60)
        assert closed.value.rcvd.code == 1012
        out, err = process.communicate(timeout=60)
        assert out.split("\n")[:-1] == ["draining", "drained", "lifespan ended", "served"]
        assert (process.returncode, err) == (0, "")


def test_server_answers_while_the_worker_drains():
    with program(drain_seconds=0) as (process, url):
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "draining\n"
        with connect(url) as page:
            assert page.recv(timeout=60) == "hello"
        process.communicate("drain is over\n", timeout=60)
        assert process.returncode == 0


def test_second_signal_ends_the_server_at_once():
    with program(drain_seconds=30) as (process, url), connect(url) as page:
        page.recv(timeout=60)
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "draining\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM


INVALID_UTF8 = b"\x81\x82" + bytes(4) + b"\xff\xfe"
CLOSE_FRAME = b"\x88\x82" + bytes(4) + (1000).to_bytes(2, "big")


@pytest.mark.parametrize(
    ("sent", "closed"),
    [(INVALID_UTF8, 1007), (INVALID_UTF8 * 2, 1007), (INVALID_UTF8 + CLOSE_FRAME, 1000)],
    ids=["once", "twice at once", "before a close frame"],
)
def test_invalid_utf8_closes_the_socket_and_is_not_logged_as_a_server_error(sent, closed):
    with program() as (process, url):
        with raw_socket(url) as line:
            line.sendall(sent)
            assert close_code(line) == closed
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")


def test_invalid_utf8_after_a_close_frame_is_not_logged_as_a_server_error():
    with program() as (process, url):
        with raw_socket(url, "/bye") as line:
            assert close_code(line) == 4401
            line.sendall(INVALID_UTF8 + CLOSE_FRAME)
            assert line.recv(1024) == b""  # the server has closed the connection
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")


@contextmanager
def raw_socket(url: str, path: str = "/") -> Iterator[socket.socket]:
    """An open socket that answers nothing by itself."""
    port = int(url.rpartition(":")[2].strip("/"))
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(
            b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            % path.encode()
        )
        found = b""
        while not found.endswith(b"\r\n\r\n"):
            found += line.recv(1)
        yield line


def close_code(line: socket.socket) -> int:
    """The code in the close frame of the server."""
    found = b""
    while len(found.partition(b"\x88\x02")[2]) < 2:
        piece = line.recv(1024)
        assert piece, found
        found += piece
    return int.from_bytes(found.partition(b"\x88\x02")[2][:2], "big")
