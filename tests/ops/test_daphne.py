"""Paca on daphne: pages, API and sockets without lifespan events, and the bound on slow viewers."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from paca.installation_keys import ENCRYPTION_KEY_FILE, SECRET_KEY_FILE
from tests.installation.manage_process import ROOT, START_SECONDS, Installation, Running
from tests.realtime.pages import Page, bearer_headers
from tests.support import ports, raw_http, valkey_server
from tests.support.flow import wait_until
from tests.support.mcp_caller import NEW, OLD, McpCaller
from tests.support.postgres_server import PostgresServer

pytestmark = pytest.mark.service
MIB = 1024 * 1024
DAPHNE = ("-m", "daphne")
# The same command, but a viewer may be silent for one second only instead of ten. The closed
# connection then stays for five seconds instead of one, so that a test can still read its close frame.
IMPATIENT_DAPHNE = (
    "-c",
    """
from daphne.cli import CommandLineInterface
from daphne.ws_protocol import WebSocketFactory
from paca.ops.daphne import backpressure

backpressure.SEND_TIMEOUT_SECONDS = 1.0
set_options = WebSocketFactory.setProtocolOptions
WebSocketFactory.setProtocolOptions = lambda factory, **options: set_options(
    factory, closeHandshakeTimeout=5, **options
)
CommandLineInterface.entrypoint()
""",
)
CLOSING_SECONDS = (
    3.0  # after this time daphne has sent the close frame and not yet ended the connection
)
LONG_LOG = """
from paca import events
from paca.conversations import store
for _ in range(200):
    store.append({conversation!r}, events.MessageSpoken(text="x" * 60_000))
"""


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[Installation]:
    """The data folder, tables, admin and demo agent of a split deployment; no process runs yet."""
    postgres.execute("CREATE DATABASE daphne", database="postgres")
    with valkey_server.running() as valkey:
        settings = {
            "DATABASE_URL": postgres.url_of("daphne"),
            "REDIS_URL": valkey.url,
            "PACA_SANDBOX": "bubblewrap",
            "SECRET_KEY": "daphne-only-0123456789abcdefghijklmnopqrstuvwxyz-01234567",
            "ENCRYPTION_KEY": "iF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM=",
        }
        paca = Installation(tmp_path_factory.mktemp("daphne") / "var", settings)
        prepared = paca.run("up", "--prepare-only")
        assert prepared.returncode == 0, prepared.stderr
        assert "sign in as admin" in prepared.stdout
        yield paca
        paca.end()


@pytest.fixture(scope="module")
def token(installation: Installation) -> str:
    return installation.run("create_token", "admin").stdout.split()[-1]


def start_server(
    installation: Installation,
    *command: str,
    arguments: tuple[str, ...],
    before: tuple[str, ...] = (),
) -> Running:
    """Start a server on a free port, and wait until it answers."""
    port = ports.free()
    process = subprocess.Popen(
        [
            *before,
            sys.executable,
            *command,
            *(each.replace("PORT", str(port)) for each in arguments),
        ],
        env=installation.environment(DJANGO_SETTINGS_MODULE="paca.settings"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    running = Running(process, port=port)
    installation.started.append(running)
    wait_until(lambda: answers(running), START_SECONDS)
    return running


def answers(running: Running) -> bool:
    assert running.process.poll() is None, running.process.stdout.read()
    try:
        return running.get("/healthz").status == 200
    except OSError:
        return False


def start_daphne(
    installation: Installation, *command: str, before: tuple[str, ...] = ()
) -> Running:
    arguments = ("-v", "0", "-b", "127.0.0.1", "-p", "PORT", "paca.asgi:application")
    return start_server(installation, *command, arguments=arguments, before=before)


def call(running: Running, token: str, path: str, body: Any = None) -> Any:
    """Call the API, with POST if there is a body."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=20)
    try:
        headers = bearer_headers(token) | {"Content-Type": "application/json"}
        method = "GET" if body is None else "POST"
        connection.request(method, f"/api/v1{path}", body and json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    assert 200 <= answer.status < 300, text
    return json.loads(text)


def start_conversation(running: Running, token: str, text: str) -> str:
    """Write to the demo agent; gives the id of the new conversation."""
    (project,) = call(running, token, "/projects/")["results"]
    (agent,) = call(running, token, f"/projects/{project['id']}/agents/")["results"]
    path = f"/projects/{project['id']}/agents/{agent['id']}/chat-sessions/"
    return call(running, token, path, {"message": text})["conversation"]


def socket_of(running: Running, conversation: str, token: str) -> Page:
    url = f"ws://127.0.0.1:{running.port}/ws/conversations/{conversation}/"
    return Page(url, bearer_headers(token))


@contextmanager
def silent_viewer(running: Running, conversation: str, token: str) -> Iterator[socket.socket]:
    """Open a socket, and read nothing but the first bytes of the handshake."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", running.port))
        client.sendall(
            f"GET /ws/conversations/{conversation}/ HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n"
            f"Authorization: Bearer {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        client.settimeout(30)
        assert client.recv(12) == b"HTTP/1.1 101"
        yield client


def close_code(client: socket.socket) -> int:
    """Read what the server still sends, and give the code of the close frame, which is the last."""
    received = b""
    # The server then waits for the viewer's own close frame, and resets the connection without it.
    with suppress(ConnectionResetError):
        while piece := client.recv(65536):
            received += piece
    # An unmasked close frame: its opcode, the length of its content, the code and perhaps a reason.
    _, opcode, content = received[-64:].rpartition(b"\x88")
    assert opcode, received[-64:]
    assert content[0] == len(content) - 1, received[-64:]
    return int.from_bytes(content[1:3], "big")


def viewers_of(process: psutil.Process, port: int) -> list[Any]:
    """The open connections to the server."""
    found = process.net_connections("tcp")
    return [each for each in found if each.laddr.port == port and each.status == "ESTABLISHED"]


def test_daphne_serves_pages_api_and_sockets(installation: Installation, token: str) -> None:
    running = start_daphne(installation, *DAPHNE)
    page = running.get("/accounts/login/")
    assert page.status == 200
    (sheet,) = re.findall(r'"(/static/[0-9a-f]{10}/paca/components\.css)"', page.body.decode())
    assert "immutable" in running.get(sheet).headers["Cache-Control"]

    conversation = start_conversation(running, token, "Look around the sandbox.")
    with socket_of(running, conversation, token) as viewer:
        viewer.until("ready")
        installation.up_until(r"Worker\s+takes up to", "run_worker")
        viewer.until("agent.text.streamed", 60)
        viewer.until("agent.turn.finished", 60)
        assert viewer.ask("message", client_id="c1", text="Thank you")["type"] == "ack"
        answer = viewer.until("agent.message.spoken", 60)
        assert answer["data"]["text"]
        assert viewer.seqs == list(range(1, viewer.seqs[-1] + 1))
        check_proxy_headers_and_body_limit(running)
        assert running.stop() == 0
        assert viewer.close_code() != 1012


def check_proxy_headers_and_body_limit(running: Running) -> None:
    assert "Strict-Transport-Security" not in running.get("/healthz").headers
    forwarded = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "HTTPS, http"}
    assert "Strict-Transport-Security" in running.get("/healthz", **forwarded).headers
    # Only the head is sent: the size is refused before the body is read.
    head = b"POST /api/v1/projects/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n"
    answer = raw_http.exchange(running.port, head)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "too_large"
    chunks = b"200000\r\n" + b"x" * 0x200000 + b"\r\n"
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert raw_http.status_of(running.port, head + chunks * 2) in {413, 0}


def test_daphne_serves_the_mcp_server(installation: Installation, token: str) -> None:
    running = start_daphne(installation, *DAPHNE)
    for version in (OLD, NEW):
        caller = McpCaller(running.port, token, version)
        project = caller.tool("list_projects")[0]["id"]
        agent = caller.tool("list_agents", project=project)["results"][0]["id"]
        found = caller.tool(
            "start_agent", project=project, agent=agent, instruction="Hello", wait_seconds=0.6
        )
        assert found["is_working"] is True  # no worker runs here
    assert McpCaller(running.port).ask("tools/list")[0] == 401
    assert caller.send("", "GET")[0] == 405
    assert caller.send("{}", Origin="https://evil.example")[0] == 403
    assert caller.send("x" * 3_000_000)[0] == 413
    running.stop()
    assert "Traceback" not in running.output


def test_daphne_has_the_limits_of_connections(installation: Installation) -> None:
    limited = ("sh", "-c", 'ulimit -n 1024; exec "$@"', "sh")
    installation.settings["WEB_HEAD_TIMEOUT_SECONDS"] = "2"
    running = start_daphne(installation, *DAPHNE, before=limited)
    del installation.settings["WEB_HEAD_TIMEOUT_SECONDS"]
    with raw_http.half_requests(running.port, 1100):
        assert running.get("/healthz").status == 200
        assert running.get("/accounts/login/").status == 200
    assert raw_http.exchange(running.port, b"GET / HT").startswith(b"HTTP/1.1 408 ")
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "
    assert raw_http.status_of(running.port, head + b"a" * 100_000) == 0  # closed without an answer
    assert raw_http.status_of(running.port, b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 5_000) == 400
    assert running.stop() == 0


def test_daphne_closes_a_viewer_that_does_not_read_and_keeps_little_for_it(
    installation: Installation, token: str
) -> None:
    running = start_daphne(installation, *IMPATIENT_DAPHNE)
    conversation = start_conversation(running, token, "Hello")
    ended = installation.run("shell", "-v0", "-c", LONG_LOG.format(conversation=conversation))
    assert ended.returncode == 0, ended.stderr
    with socket_of(running, conversation, token) as reader:
        reader.until("ready", 30)  # caches are filled and memory is allocated now
    process = psutil.Process(running.process.pid)
    before = peak = process.memory_info().rss

    def all_are_closed() -> bool:
        nonlocal peak
        peak = max(peak, process.memory_info().rss)
        return not viewers_of(process, running.port)

    with ExitStack() as viewers:
        opened = [
            viewers.enter_context(silent_viewer(running, conversation, token)) for _ in range(10)
        ]
        began = time.monotonic()
        wait_until(lambda: all_are_closed() or time.monotonic() - began > CLOSING_SECONDS)
        assert close_code(opened[-1]) == 4408
        wait_until(all_are_closed, 60)
    # The log has 12 MB; a page of it and 64 KiB may wait for each of the ten viewers.
    assert peak - before < 60 * MIB, f"{(peak - before) / MIB:.0f} MiB"
    assert running.stop() == 0


def test_runserver_serves_sockets_with_daphne(installation: Installation, token: str) -> None:
    arguments = ("manage.py", "runserver", "--noreload", "127.0.0.1:PORT")
    running = start_server(installation, arguments=arguments)
    conversation = start_conversation(running, token, "Hello")
    with socket_of(running, conversation, token) as viewer:
        viewer.until("ready")
        assert viewer.ask("ping")["type"] == "pong"


def run_daphne(installation: Installation, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run daphne until it has refused to serve."""
    return subprocess.run(
        [sys.executable, *DAPHNE, "-p", "0", "paca.asgi:application"],
        env=installation.environment(**variables),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )


def test_daphne_is_refused_without_saved_secrets(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "var")
    ended = run_daphne(installation)
    assert ended.returncode == 1
    last_line = ended.stderr.strip().splitlines()[-1]
    assert "SECRET_KEY and ENCRYPTION_KEY would exist only until this process ends" in last_line
    assert "manage.py up --prepare-only" in last_line
    assert not installation.data.exists()


def test_daphne_is_refused_with_other_secrets_than_the_installation(
    installation: Installation, tmp_path: Path
) -> None:
    """A second host that has generated its own secrets must not write what the others cannot read."""
    second = Installation(tmp_path / "var", installation.settings)
    second.data.mkdir(mode=0o700)
    generated = {
        SECRET_KEY_FILE: "another-0123456789abcdefghijklmnopqrstuvwxyz-012345",
        ENCRYPTION_KEY_FILE: "jF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM=",
    }
    for name, secret in generated.items():
        (second.data / name).touch(mode=0o600)
        (second.data / name).write_text(secret)
    ended = run_daphne(second, SECRET_KEY="", ENCRYPTION_KEY="")
    assert ended.returncode == 1
    last_line = ended.stderr.strip().splitlines()[-1]
    assert "SECRET_KEY and ENCRYPTION_KEY differ from what the web process" in last_line
    assert "Next step: give every process the same" in last_line


def test_other_processes_do_not_load_daphne() -> None:
    code = "import django, sys; django.setup(); assert 'twisted' not in sys.modules"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True, timeout=60)
