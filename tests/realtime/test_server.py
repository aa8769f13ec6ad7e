"""How the web server begins and ends: ready, drained, said goodbye, gone."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

# A program that serves a socket which says "worker" when the worker begins to drain.
PROGRAM = textwrap.dedent(
    """
    import asyncio, socket, sys, time
    from paca.realtime import server

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
        await send({"type": "websocket.send", "text": "hello"})
        await draining.wait()
        await send({"type": "websocket.send", "text": "the worker has stored its last event"})
        await receive()

    def drain():
        print("draining", flush=True)
        loop.call_soon_threadsafe(draining.set)
        time.sleep(drain_seconds)
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
def test_a_signal_drains_the_worker_then_says_1012_then_returns(number):
    with program() as (process, url), connect(url) as page:
        assert page.recv(timeout=5) == "hello"
        process.send_signal(number)
        assert page.recv(timeout=5) == "the worker has stored its last event"
        with pytest.raises(ConnectionClosed) as closed:
            page.recv(timeout=5)
        assert closed.value.rcvd.code == 1012
        out, err = process.communicate(timeout=10)
        assert out.split("\n")[:-1] == ["draining", "drained", "lifespan ended", "served"]
        assert (process.returncode, err) == (0, "")


def test_while_the_worker_drains_the_server_still_answers():
    with program(drain_seconds=1.5) as (process, url):
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "draining\n"
        with connect(url) as page:
            assert page.recv(timeout=1) == "hello"
        process.communicate(timeout=10)
        assert process.returncode == 0


def test_a_second_signal_ends_it_at_once():
    with program(drain_seconds=30) as (process, url), connect(url) as page:
        page.recv(timeout=5)
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "draining\n"
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 128 + signal.SIGTERM
        assert time.monotonic() - began < 2
