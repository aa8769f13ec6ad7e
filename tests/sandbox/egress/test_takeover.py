"""A gate process that is taken over reaches no socket in a file, and lets a sandbox reach nothing either."""

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paca.common.network_policy import CLOSED
from paca.sandbox.egress import gates, isolation
from paca.sandbox.egress.unix_sockets import address_of
from tests.sandbox.egress import takeover
from tests.sandbox.egress.test_gates import opened as opened

ROOT = Path(__file__).parents[3]
# The gate process, in which each connection of a sandbox takes over.
BOOT_CODE = f"""
import sys; sys.path[:0] = [sys.argv.pop(1), {str(ROOT)!r}]
import json, runpy, socket
import paca.sandbox.egress.gate as gate, paca.sandbox.egress.opener as opener, paca.sandbox.egress.process as process
takeover = runpy.run_path({takeover.__file__!r})
channels = []
begin = opener.Opener.__init__
def remember(self, channel, on_end):
    channels.append(channel.fileno())
    begin(self, channel, on_end)
opener.Opener.__init__ = remember
async def serve(self, reader, writer):
    writer.transport.pause_reading()
    client = writer.get_extra_info("socket").dup()
    client.send(b"go")
    found = takeover["run"](client, channels[0], json.loads(sys.argv[3]))
    client.sendall(json.dumps(found).encode())
    client.shutdown(socket.SHUT_RDWR)
gate.Gate.serve = serve
process.main(sys.argv[1:])
"""
# What no process can do with its own connections, and what not every machine allows.
NOT_EVERYWHERE = {
    "connects_its_own_connections",
    "makes_a_ring",
    "traces_a_process",
    "takes_descriptors_of_a_process",
}


@pytest.fixture
def targets() -> Iterator[dict[str, Any]]:
    stream, datagram, abstract = (
        socket.socket(socket.AF_UNIX, kind)
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_STREAM)
    )
    name = f"paca-{uuid.uuid4()}"
    with (
        stream,
        datagram,
        abstract,
        tempfile.TemporaryDirectory() as folder,  # a short path
        subprocess.Popen(["sleep", "600"]) as other,
    ):
        files = [f"{folder}/stream", f"{folder}/datagram"]
        stream.bind(files[0])
        datagram.bind(files[1])
        abstract.bind("\0" + name)
        stream.listen(32)
        abstract.listen(32)
        yield {"files": files, "abstract": name, "process": other.pid}
        other.kill()


def send_sockets(connection: socket.socket) -> None:
    """As a command in a sandbox can: descriptors of new sockets, along with bytes."""
    for _ in range(takeover.SENT):
        with socket.socket(socket.AF_UNIX) as fresh:
            socket.send_fds(connection, [b"x"], [fresh.fileno()])


def succeeded(results: dict[str, str]) -> set[str]:
    return {name for name, error in results.items() if not error}


def test_gate_process_that_is_taken_over_reaches_no_socket_and_hands_over_nothing(
    opened, monkeypatch, targets
):
    monkeypatch.setattr(
        gates, "BOOT_CODE", BOOT_CODE.replace("sys.argv[3]", repr(json.dumps(targets)))
    )
    conversation = uuid.uuid4()
    asyncio.run(opened.open(conversation, CLOSED))
    with socket.socket(socket.AF_UNIX) as sandbox:
        with address_of(opened.folder(conversation).socket) as address:
            sandbox.connect(address)
        assert sandbox.recv(2) == b"go"
        send_sockets(sandbox)
        held = succeeded(json.load(sandbox.makefile("rb")))
    if isolation.landlock_version() < isolation.SCOPES_SINCE:
        held -= {"signals_a_process"}
    assert held == set()


def test_the_same_attempts_succeed_in_a_process_that_is_not_confined(targets):
    sandbox, client = socket.socketpair()
    channel, nobody = socket.socketpair()
    with sandbox, client, channel, nobody:
        send_sockets(sandbox)
        numbers = client.fileno(), channel.fileno()
        command = [sys.executable, takeover.__file__, *map(str, numbers), json.dumps(targets)]
        done = subprocess.run(command, pass_fds=numbers, capture_output=True, text=True, check=True)
    results = json.loads(done.stdout)
    assert set(results) - succeeded(results) <= NOT_EVERYWHERE, results
