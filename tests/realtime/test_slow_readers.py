"""A page that does not read is closed, costs bounded memory and does not disturb others."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from paca import events
from paca.bus import get_bus
from paca.bus.base import conversation_topic
from paca.ops.uvicorn.websocket_protocol import BoundedWebSocketProtocol
from tests.realtime.pages import (
    Chat,
    application,
    bearer_headers,
    conversation_page,
    create_token,
    session_headers,
)
from tests.support.live_server import LiveServer, running

pytestmark = pytest.mark.django_db(transaction=True)

MIB = 1024 * 1024
CLOSED_TOO_SLOW = (4408).to_bytes(2, "big")


@pytest.fixture
def server(transactional_db, monkeypatch) -> Iterator[LiveServer]:
    """A server that closes a slow page after one second instead of ten."""
    monkeypatch.setattr(BoundedWebSocketProtocol, "send_timeout_seconds", 1.0)
    monkeypatch.setattr(BoundedWebSocketProtocol, "close_timeout_seconds", 1.0)
    with running(application()) as live:
        yield live


@contextmanager
def silent_page(server: LiveServer, chat: Chat) -> Iterator[socket.socket]:
    """Open a socket and read nothing from it."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.sendall(
            f"GET /ws/conversations/{chat.id}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {create_token(chat.owner)}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        yield client


def read_all(client: socket.socket) -> bytes:
    client.settimeout(30)
    found = b""
    while piece := client.recv(65536):
        found += piece
    return found


def until(condition, seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def sockets_of(server: LiveServer) -> list[BoundedWebSocketProtocol]:
    connections = list(server.server.server_state.connections)
    return [each for each in connections if isinstance(each, BoundedWebSocketProtocol)]


def open_sockets(server: LiveServer) -> int:
    return len(sockets_of(server))


def closed_sockets(server: LiveServer) -> list[BoundedWebSocketProtocol]:
    return [each for each in sockets_of(server) if each.close_sent]


def test_page_that_does_not_read_is_closed_with_4408_and_costs_little_memory(
    server, chat, monkeypatch
):
    # Time to measure, then to read.
    monkeypatch.setattr(BoundedWebSocketProtocol, "close_timeout_seconds", 8.0)
    chat.append_messages(200, text="x" * 60_000)  # 12 MB
    process = psutil.Process(os.getpid())
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as quick:
        quick.until("ready", 30)  # allocations that happen once happen now
        quick.frames.clear()
        before, peak = process.memory_info().rss, 0

        def all_are_closed() -> bool:
            nonlocal peak
            peak = max(peak, process.memory_info().rss - before)
            return len(closed_sockets(server)) == 10

        with ExitStack() as silent:
            clients = [silent.enter_context(silent_page(server, chat)) for _ in range(10)]
            until(all_are_closed)
            last = chat.append_messages(5)
            quick.until(lambda frame: frame["seq"] == last, 5)  # the reading page was not disturbed
            received = read_all(clients[0])
        assert received[-64:].rpartition(b"\x88")[2][1:3] == CLOSED_TOO_SLOW
        assert len(received) < 10 * MIB  # the kernel's buffers; the rest was never written
        # Without the bound ten times 12 MB would wait. With it a page of events and 64 KiB wait for each.
        assert peak < 60 * MIB, f"{peak / MIB:.0f} MiB"


def test_page_that_never_answers_the_close_is_disconnected_after_a_timeout(server, chat):
    chat.append_messages(100, text="x" * 60_000)
    with silent_page(server, chat), silent_page(server, chat):
        until(lambda: open_sockets(server) == 2)
        until(lambda: open_sockets(server) == 0)


def test_page_that_falls_behind_only_in_live_text_is_closed_too(server, chat):
    topic = conversation_topic(chat.id)
    with silent_page(server, chat):
        until(lambda: open_sockets(server) == 1)
        sent = 0

        def send_text_until_it_is_closed() -> bool:
            nonlocal sent
            event = events.TextStreamed(call_id=f"m{sent}", offset=0, text="y" * 60_000)
            frame = {"type": event.type, "seq": None, "source": "agent", "turn": 1, "at": ""}
            get_bus().live(topic, frame | {"data": event.payload()})
            sent += 60_000
            return open_sockets(server) == 0

        until(send_text_until_it_is_closed, 60)
    assert sent > MIB  # the page had time to read


def test_page_that_was_closed_reconnects_and_gets_everything(server, chat):
    last = chat.append_messages(60, text="x" * 60_000)
    with silent_page(server, chat):
        until(lambda: open_sockets(server) == 1)
        until(lambda: open_sockets(server) == 0)
    with conversation_page(
        server, chat.id, bearer_headers(create_token(chat.owner)), after=10
    ) as page:
        page.until("ready", 20)
        assert page.seqs == list(range(11, last + 1))
