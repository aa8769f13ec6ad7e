"""What a stranger can send to a running server before signing in: limits of time, size and number."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.installation.manage_process import Installation, Running
from tests.support import raw_http

OPEN_FILES = 1024
LIMITED = ("sh", "-c", f'ulimit -n {OPEN_FILES}; exec "$@"', "sh")


@pytest.fixture(scope="module")
def running(first_start_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with a small limit of open files, and with short limits of time."""
    installation = Installation(
        tmp_path_factory.mktemp("limits") / "data",
        {
            "PACA_SANDBOX": "none",
            "WEB_HEAD_TIMEOUT_SECONDS": "2",
            "WEB_BODY_TIMEOUT_SECONDS": "2",
            "WEB_IDLE_TIMEOUT_SECONDS": "2",
        },
    )
    shutil.copytree(first_start_data, installation.data, symlinks=True)
    yield installation.up(before=LIMITED)
    installation.end()


def open_files(running: Running) -> int:
    return len(list(Path(f"/proc/{running.process.pid}/fd").iterdir()))


def test_server_answers_while_more_half_requests_are_held_than_it_has_descriptors(running: Running):
    lines_before = len(running.lines)
    with raw_http.half_requests(running.port, 1100):
        for path in ("/healthz", "/readyz", "/accounts/login/"):
            assert running.get(path).status in {200, 503}
        assert running.get("/healthz").status == 200
        assert open_files(running) < OPEN_FILES - 50
    assert len(running.lines) - lines_before < 30


def test_server_answers_while_more_slow_bodies_are_held_than_it_has_descriptors(running: Running):
    head = b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    with raw_http.half_requests(running.port, 0), ExitStack() as held:
        for _ in range(1100):
            held.enter_context(raw_http.connect(running.port)).sendall(head)
        assert running.get("/healthz").status == 200


CHUNKED = b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 96 * 1024 * 1024, 431),
        (CHUNKED + b"1\r\na\r\n0\r\nX: " + b"a" * 16 * 1024 * 1024, 431),
        (CHUNKED + b"1\r\na\r\n0\r\n" + b"X: a\r\n" * 100_000, 431),
        (CHUNKED + b"1;" + b"a" * 1024 * 1024, 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 100_000, 431),
        (b"GET /" + b"a" * 100_000, 414),
        (raw_http.HANDSHAKE + b"X: " + b"a" * 100_000, 431),
        (raw_http.HANDSHAKE + b"X: " + b"a" * 30_000 + b"\r\n\r\n", 431),
        (raw_http.HANDSHAKE + b"X: a\r\n" * 200 + b"\r\n", 431),
    ],
    ids=[
        "large header",
        "large trailer",
        "many trailers",
        "large chunk extension",
        "many headers",
        "long url",
        "large handshake",
        "long line",
        "many lines",
    ],
)
def test_head_above_the_limit_is_refused_and_not_kept(running: Running, sent: bytes, status: int):
    process = psutil.Process(running.process.pid)
    before = process.memory_info().rss
    # Of what is still on its way, the server's system resets the connection; the answer may be lost then.
    assert raw_http.status_of(running.port, sent) in (
        {status, 0} if len(sent) > 1 << 20 else {status}
    )
    assert process.memory_info().rss - before < 30e6


def test_head_below_the_limit_is_read(running: Running):
    headers = b"Host: localhost\r\nConnection: close\r\nX: " + b"a" * 60_000 + b"\r\n\r\n"
    assert raw_http.status_of(running.port, b"GET /healthz HTTP/1.1\r\n" + headers) == 200


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET / HT", b"HTTP/1.1 408 "),
        (
            b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na",
            b"HTTP/1.1 408 ",
        ),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 200 "),
        (
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
            b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na",
            b"HTTP/1.1 200 ",
        ),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HT", b"HTTP/1.1 200 "),
    ],
    ids=[
        "nothing",
        "half a head",
        "half a body",
        "a request and no more",
        "half a body behind a request",
        "half a head behind a request",
    ],
)
def test_connection_ends_when_its_client_sends_nothing_more(
    running: Running, sent: bytes, answer: bytes
):
    assert raw_http.exchange(running.port, sent)[: len(answer)] == answer


def test_lines_of_strangers_do_not_fill_the_log(running: Running):
    lines_before = len(running.lines)
    for _ in range(100):
        raw_http.exchange(running.port, b"this is not HTTP\r\n\r\n")
    for number in range(100):
        running.get(f"/no-such-page-{number}/")
    assert len(running.lines) - lines_before < 150
