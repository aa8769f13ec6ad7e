"""The runner forwards connections of commands to the gate, large ones without a copy, and each end may end first."""

import errno
import select
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from paca.sandbox.runner import forward, splice
from paca.sandbox.runner.forward import Forward
from paca.sandbox.runner.splice import SPLICE_FROM_BYTES, Pipe, can_splice

SECONDS = 20
PIECE = bytes(range(256)) * 256
LARGE = PIECE * (4 * SPLICE_FROM_BYTES // len(PIECE))


@pytest.fixture(params=["moved", "copied", "without descriptors"])
def way(request, monkeypatch):
    monkeypatch.setattr(forward, "can_splice", lambda: request.param != "copied")
    if request.param == "without descriptors":

        def refuse(*_):
            raise OSError(errno.EMFILE, "too many open files")

        monkeypatch.setattr(Pipe, "__init__", refuse)


@pytest.fixture
def gate(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "gate"))
        listener.listen()
        listener.settimeout(SECONDS)
        yield listener


class Running:
    """A forward that works in a thread, as the loop of the runner has it work."""

    def __init__(self, path: str) -> None:
        self._poll = select.epoll()
        self.forward = Forward(self._poll, address=("127.0.0.1", 0), gate=path)
        self._ends, self._wake = socket.socketpair()
        self._poll.register(self._ends, select.EPOLLIN)
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while True:
            for fd, _ in self._poll.poll():
                if fd == self._ends.fileno():
                    return
                if self.forward.owns(fd):
                    self.forward.handle(fd)

    def __enter__(self) -> "Running":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wake.close()
        self._thread.join(SECONDS)
        self._ends.close()
        for side in list(self.forward._sides.values()):
            side.socket.close()
        self.forward._listener.close()
        self._poll.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.forward.port), SECONDS)


@pytest.fixture
def running(gate, way):
    with Running(gate.getsockname()) as made:
        yield made


def read(found: socket.socket, count: int) -> bytes:
    """So many bytes, or those up to the end."""
    data = bytearray()
    while len(data) < count and (piece := found.recv(min(1 << 16, count - len(data)))):
        data += piece
    return bytes(data)


def test_much_arrives_whole_both_ways_and_each_end_may_end_first(running, gate):
    def serve() -> bytes:
        server, _ = gate.accept()
        with server:
            server.settimeout(SECONDS)
            server.sendall(LARGE)
            got = read(server, 2 * len(LARGE))  # until the client has ended its part
            server.sendall(b"last")
            return got

    with ThreadPoolExecutor(1) as threads, running.connect() as client:
        served = threads.submit(serve)
        assert read(client, len(LARGE)) == LARGE
        client.sendall(LARGE[::-1])
        client.shutdown(socket.SHUT_WR)
        assert read(client, 5) == b"last"
        assert served.result(SECONDS) == LARGE[::-1]


def test_a_client_that_does_not_read_holds_up_its_own_connection_only(running, gate):
    with running.connect() as slow, running.connect() as quick:
        servers = [gate.accept()[0] for _ in range(2)]
        with servers[0], servers[1], ThreadPoolExecutor(2) as threads:
            for server in servers:
                server.settimeout(SECONDS)
                threads.submit(server.sendall, LARGE)
            for client in (quick, slow):
                assert read(client, len(LARGE)) == LARGE


def test_an_urgent_byte_neither_holds_up_those_after_it_nor_keeps_the_runner_busy(running, gate):
    def serve() -> bytes:
        server, _ = gate.accept()
        with server:
            server.settimeout(SECONDS)
            return read(server, 2 * len(LARGE))

    with ThreadPoolExecutor(1) as threads, running.connect() as client:
        served = threads.submit(serve)
        client.sendall(LARGE)
        client.send(b"!", socket.MSG_OOB)
        client.sendall(PIECE)
        client.shutdown(socket.SHUT_WR)
        assert served.result(SECONDS) == LARGE + PIECE


def test_a_connection_that_breaks_is_dropped_at_both_ends(running, gate):
    with running.connect() as client:
        server, _ = gate.accept()
        server.sendall(PIECE)
        assert client.recv(1) == PIECE[:1]
        server.close()
        assert len(read(client, len(PIECE))) == len(PIECE) - 1
    with running.connect() as client, gate.accept()[0] as server:
        server.sendall(b"next")
        assert client.recv(4) == b"next"


def test_this_system_moves_bytes_in_the_kernel():
    assert can_splice()


def test_bytes_are_copied_where_the_kernel_would_wait_for_a_full_socket(monkeypatch):
    times = iter((0.0, splice.TRIAL_SECONDS))
    monkeypatch.setattr(splice, "time", SimpleNamespace(monotonic=lambda: next(times)))
    assert not can_splice()


def test_bytes_are_copied_where_a_pipe_would_be_tiny(monkeypatch):
    monkeypatch.setattr(splice, "PIPE_BYTES", 4096)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OSError, match="many"):
        Pipe()
    assert not can_splice()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
