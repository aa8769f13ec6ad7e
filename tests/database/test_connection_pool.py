"""The connection pool: never more connections than threads, all returned, none of them dead."""

import asyncio
import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from paca import events
from paca.asgi import application
from paca.common import database_threads
from paca.conversations import store
from paca.worker.database import Database
from tests.realtime.pages import Chat, make_chat, session_cookie
from tests.support import postgres_sessions
from tests.support.flow import wait_until
from tests.support.live_server import LiveServer, running

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

WAITS_FOR_A_LOCK = "wait_event_type = 'Lock'"


class RawClient:
    """A connection to the server that sends one request and may read its response."""

    def __init__(self, live: LiveServer, cookie: str, path: str = "/api/v1/projects/") -> None:
        self.socket = socket.create_connection(("127.0.0.1", live.port))
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n"
        self.socket.sendall(f"{head}Connection: close\r\n\r\n".encode())

    def answer(self) -> tuple[int, bytes]:
        response = http.client.HTTPResponse(self.socket)
        self.socket.settimeout(60)
        response.begin()
        with contextlib.closing(self.socket):
            return response.status, response.read()

    def leave(self) -> None:
        self.socket.close()


@pytest.fixture
def chat(transactional_db: None) -> Chat:
    return make_chat()


@pytest.fixture
def live(transactional_db: None) -> Iterator[LiveServer]:
    with running(application) as server:
        yield server


@pytest.fixture
def cookie(chat: Chat) -> str:
    return session_cookie(chat.owner)


@contextlib.contextmanager
def lists_are_stuck() -> Iterator[None]:
    """Requests for the projects wait for a lock in the database until this ends."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE projects_project IN ACCESS EXCLUSIVE MODE")
        yield


def in_use() -> int:
    """The number of connections of the pool that are in use now."""
    stats: dict[str, Any] = connection.pool.get_stats()
    return int(stats["pool_size"] - stats["pool_available"])


@pytest.fixture(autouse=True)
def used_before(transactional_db: None) -> int:
    """Connections that threads of earlier tests keep do not count."""
    connection.close()
    return in_use()


@pytest.fixture
def assert_everything_comes_back(used_before: int) -> Callable[[], None]:
    def wait() -> None:
        connection.close()
        wait_until(lambda: in_use() <= used_before, 20, lambda: str(connection.pool.get_stats()))

    return wait


def test_connection_pool_serves_two_hundred_concurrent_requests_with_a_few_connections(
    live, cookie, assert_everything_comes_back
):
    with lists_are_stuck():
        visitors = [RawClient(live, cookie) for _ in range(200)]
        wait_until(lambda: postgres_sessions.sessions(WAITS_FOR_A_LOCK) == database_threads.PAGES)
        # One more connection is the test's own, which holds the lock.
        assert postgres_sessions.sessions("state <> 'idle'") == database_threads.PAGES + 1
        assert postgres_sessions.sessions() <= database_threads.TOTAL
    assert [visitor.answer()[0] for visitor in visitors] == [200] * 200
    assert connection.pool.get_stats()["pool_size"] <= database_threads.TOTAL
    assert_everything_comes_back()


@pytest.mark.anyio
async def test_worker_does_not_wait_for_requests_that_are_stuck(live, chat, cookie):
    database = Database()
    started, done = threading.Event(), threading.Event()

    def stuck() -> None:
        with lists_are_stuck():
            visitors = [RawClient(live, cookie) for _ in range(60)]
            wait_until(
                lambda: postgres_sessions.sessions(WAITS_FOR_A_LOCK) == database_threads.PAGES
            )
            started.set()
            assert done.wait(20)
        assert {visitor.answer()[0] for visitor in visitors} == {200}
        connection.close()

    pages = asyncio.create_task(asyncio.to_thread(stuck))
    await asyncio.to_thread(started.wait, 30)
    try:
        said = [events.MessageSpoken(text="x")]
        stored = [
            database.call(store.append, chat.id, *said) for _ in range(database_threads.WORKER)
        ]
        async with asyncio.timeout(4):  # less than the timeout of the pool
            await asyncio.gather(*stored)
    finally:
        done.set()
        await pages
        await asyncio.to_thread(database.close)


def test_liveness_is_answered_while_every_request_is_stuck(live, cookie):
    with lists_are_stuck():
        visitors = [RawClient(live, cookie) for _ in range(database_threads.PAGES + 4)]
        wait_until(lambda: postgres_sessions.sessions(WAITS_FOR_A_LOCK) == database_threads.PAGES)
        assert RawClient(live, "", "/healthz").answer()[0] == 200
    assert {visitor.answer()[0] for visitor in visitors} == {200}


def test_requests_whose_clients_leave_free_their_place(live, cookie, assert_everything_comes_back):
    with lists_are_stuck():
        visitors = [RawClient(live, cookie) for _ in range(200)]
        wait_until(lambda: postgres_sessions.sessions(WAITS_FOR_A_LOCK) == database_threads.PAGES)
        for visitor in visitors:
            visitor.leave()
    assert RawClient(live, cookie).answer()[0] == 200
    assert_everything_comes_back()


def test_slow_readers_occupy_neither_a_place_nor_a_connection(
    live, chat, cookie, assert_everything_comes_back
):
    store.append(chat.id, *[events.MessageSpoken(text="x" * 100_000)] * 150)
    log = f"/api/v1/projects/{chat.world.project.pk}/conversations/{chat.id}/events/?limit=200"
    slow = [RawClient(live, cookie, log) for _ in range(database_threads.PAGES + 4)]
    assert RawClient(live, cookie).answer()[0] == 200
    assert_everything_comes_back()
    for visitor in slow:
        status, body = visitor.answer()
        assert status == 200
        assert len(json.loads(body)["results"]) > 150


def test_slow_senders_occupy_no_place(live, cookie):
    slow = []
    for _ in range(database_threads.PAGES + 4):
        opened = socket.create_connection(("127.0.0.1", live.port))
        opened.sendall(
            b"POST /api/v1/projects/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"
        )
        slow.append(opened)
    assert RawClient(live, cookie).answer()[0] == 200
    for opened in slow:
        opened.close()


# --- database restarts ----------------------------------------------------------------------------


def test_first_request_after_a_database_restart_is_answered(
    live, cookie, assert_everything_comes_back
):
    with lists_are_stuck():
        visitors = [RawClient(live, cookie) for _ in range(database_threads.PAGES)]
        wait_until(lambda: postgres_sessions.sessions(WAITS_FOR_A_LOCK) == database_threads.PAGES)
    assert {visitor.answer()[0] for visitor in visitors} == {200}
    assert_everything_comes_back()
    assert postgres_sessions.end_sessions() >= database_threads.PAGES
    assert RawClient(live, cookie).answer()[0] == 200
    assert_everything_comes_back()


def test_requests_are_refused_plainly_while_the_database_is_unavailable(
    live, chat, cookie, assert_everything_comes_back
):
    page = f"/projects/{chat.world.project.pk}/"
    connection.close()
    postgres_sessions.allow_connections(False)
    try:
        postgres_sessions.end_sessions()
        asked = [RawClient(live, cookie, path) for path in ("/api/v1/projects/", page, "/readyz")]
        of_api, of_page, of_ready = [visitor.answer() for visitor in asked]
    finally:
        postgres_sessions.allow_connections(True)
    assert of_api[0] == 503
    assert json.loads(of_api[1])["code"] == "unavailable"
    assert of_page[0] == 503
    assert b"The database does not answer" in of_page[1]
    assert of_ready[0] == 503
    assert json.loads(of_ready[1])["parts"]["database"] == "cannot be opened"
    wait_until(lambda: RawClient(live, cookie).answer()[0] == 200, 10)
    assert RawClient(live, cookie, page).answer()[0] == 200
    assert_everything_comes_back()
