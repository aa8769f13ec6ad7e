"""Time of a download by TLS, as those of packages are: in a sandbox through the network gate, and without either."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import threading
from pathlib import Path
from statistics import median
from unittest import mock
from uuid import uuid4

from paca.common.network_policy import EgressPolicy, Network
from paca.engine.workspace import Command
from paca.sandbox.base import Sandbox, SandboxSpec
from paca.sandbox.egress import gates
from paca.sandbox.manager import SandboxManager
from tests.bench.figures import Figure
from tests.sandbox.egress.test_gates import pid_of
from tests.support.egress import boot_code

MIB = 128
ROUNDS = 5
CURL = ("curl", "-sk", "-o", "/dev/null", "-w", "%{time_total} %{size_download}")
POLICY = EgressPolicy(Network.RESTRICTED, ("files.example",), max_bytes=1 << 40)


def through_the_gate(folder: Path) -> Figure:
    """Bytes pass through the runner and the gate, which have the kernel move them."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        tls = _certificate(folder)
        threading.Thread(target=_serve, args=(server, tls), daemon=True).start()
        port = server.getsockname()[1]
        with mock.patch.object(gates, "BOOT_CODE", boot_code(port)):
            ours, bare = asyncio.run(_downloads(folder, port))
    return Figure(
        "download",
        median(ours),
        median(bare),
        "ms",
        f"curl of {MIB} MiB by TLS from a server of this machine, median: in a bubblewrap sandbox through the network gate / "
        "on the host; no database",
        most_times=2,
    )


def _certificate(folder: Path) -> ssl.SSLContext:
    folder.mkdir(parents=True, exist_ok=True)
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=files.example", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def _serve(server: socket.socket, tls: ssl.SSLContext) -> None:
    piece = bytes(1 << 20)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {MIB << 20}\r\nConnection: close\r\n\r\n"
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        with tls.wrap_socket(client, server_side=True) as client:
            client.recv(1 << 16)
            client.sendall(head.encode())
            for _ in range(MIB):
                client.sendall(piece)


async def _downloads(folder: Path, port: int) -> tuple[list[float], list[float]]:
    manager = SandboxManager(kind="bubblewrap", data_dir=folder, install_id="bench")
    spec = await manager.with_gate(SandboxSpec(uuid4(), egress=POLICY))
    sandbox = await manager.open(spec, epoch=1)
    ours, bare = [], []
    try:
        for _ in range(ROUNDS):
            ours.append(await _in_the_sandbox(sandbox))
            bare.append(_directly(port))
    finally:
        await sandbox.end(keep_files=False)
        os.kill(pid_of(manager.gates.root), signal.SIGKILL)
    return ours, bare


async def _in_the_sandbox(sandbox: Sandbox) -> float:
    outcome = await sandbox.run(Command(uuid4().hex, argv=(*CURL, "https://files.example/")))
    return _milliseconds(outcome.output)


def _directly(port: int) -> float:
    there = ["--noproxy", "*", "--connect-to", f"::127.0.0.1:{port}"]
    command = [*CURL, *there, "https://files.example/"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return _milliseconds(done.stdout)


def _milliseconds(output: str) -> float:
    seconds, size = output.split()
    assert int(size) == MIB << 20, output
    return float(seconds) * 1000
