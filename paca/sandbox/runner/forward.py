"""Forwards connections of commands to the gate of the network, whose socket is mounted into the sandbox.

Programs know proxies by a port. The runner listens on one, which only this sandbox has, and decides nothing: the gate
does. A connection to the gate is made anew for each, so a gate that was started again is found.
"""

from __future__ import annotations

import _socket
import os
import select

from paca.sandbox.runner.splice import SPLICE_FROM_BYTES, Buffer, Pipe, can_splice

GATE_FOLDER = "/run/paca"
GATE_SOCKET = f"{GATE_FOLDER}/gate"
ADDRESS = ("127.0.0.1", 3128)
URL = "http://127.0.0.1:3128"
ENVIRONMENT = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), URL),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1"),
}
MAX_CONNECTIONS = 96  # more than the gate serves, so that the gate says it
SOMAXCONN = 128
NO_GATE = b"The network gate of Paca does not answer now. It is started again: run the command again in a moment."
UNAVAILABLE = (
    b"HTTP/1.1 503 %b\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b\n"
    % (NO_GATE, len(NO_GATE) + 1, NO_GATE)
)


class Side:
    """One end of a forwarded connection. ``unsent``: bytes of the other end that this one has not taken yet."""

    def __init__(self, connected: _socket.socket) -> None:
        self.socket = connected
        self.fd = connected.fileno()
        self.other = self
        self.unsent: Buffer | Pipe = Buffer()
        self.has_ended = False  # it sends nothing more
        self.is_shut = False  # it was told that nothing more comes
        self.watched = 0
        self.far: _socket.socket | None = None


class Forward:
    """The listening port and the open connections. Raises ``OSError`` if it cannot listen."""

    def __init__(
        self,
        poll: select.epoll,
        *,
        address: tuple[str, int] = ADDRESS,
        gate: str = GATE_SOCKET,
    ) -> None:
        self._poll = poll
        self._gate = gate
        self._sides: dict[int, Side] = {}
        self._can_splice = can_splice()
        self._listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        try:
            self._listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
            self._listener.bind(address)
            self._listener.listen(SOMAXCONN)
            self._listener.setblocking(False)
        except OSError:
            self._listener.close()
            raise
        self.fd = self._listener.fileno()
        self.port: int = self._listener.getsockname()[1]
        poll.register(self.fd, select.EPOLLIN)

    def owns(self, fd: int) -> bool:
        """Whether the descriptor is one of these."""
        return fd == self.fd or fd in self._sides

    def handle(self, fd: int) -> None:
        """Accept a connection, or pass on the bytes that are there."""
        if fd == self.fd:
            self._accept()
            return
        side = self._sides[fd]
        try:
            self._move(side)
        except OSError:  # one end is gone
            self._drop(side)

    def _accept(self) -> None:
        try:
            fd, _ = self._listener._accept()  # type: ignore[attr-defined]
        except OSError:  # the command has disconnected
            return
        client = _socket.socket(fileno=fd)
        client.setblocking(False)
        os.set_inheritable(fd, False)
        if len(self._sides) >= 2 * MAX_CONNECTIONS:
            client.close()
            return
        try:
            one, other = Side(client), self._connect()
        except OSError:  # the runner has no descriptor left
            client.close()
            return
        one.other, other.other = other, one
        self._sides |= {one.fd: one, other.fd: other}
        self._watch(one)
        self._watch(other)

    def _connect(self) -> Side:
        """A connection to the gate, or to an end that answers in its place while there is none. Raises ``OSError``."""
        gate = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        gate.setblocking(False)
        try:
            gate.connect(self._gate)
        except OSError:
            gate.close()
            near, far = _socket.socketpair()
            near.setblocking(False)
            far.send(UNAVAILABLE)
            far.shutdown(_socket.SHUT_WR)
            side = Side(near)
            side.far = (
                far  # kept open: a program that still sends its request would not see the answer
            )
            return side
        return Side(gate)

    def _move(self, side: Side) -> None:
        """Send what waits for this side, and pass on what it has sent. Raises ``OSError`` if an end is gone."""
        _send(side)
        if not side.has_ended and not side.other.unsent:
            self._receive(side)
            _send(side.other)
        if side.has_ended and side.other.has_ended and not (side.unsent or side.other.unsent):
            self._drop(side)
            return
        self._watch(side)
        self._watch(side.other)

    def _receive(self, side: Side) -> None:
        """Take what this side has sent. Raises ``OSError`` if it is gone."""
        on_the_way = side.other.unsent
        if isinstance(on_the_way, Buffer) and on_the_way.passed >= SPLICE_FROM_BYTES:
            on_the_way = side.other.unsent = self._pipe_instead_of(on_the_way)
        try:
            side.has_ended = not on_the_way.fill(side.socket)
        except BlockingIOError:
            return

    def _pipe_instead_of(self, buffer: Buffer) -> Buffer | Pipe:
        if not self._can_splice:
            return buffer
        try:
            return Pipe()
        except OSError:  # no descriptor is left
            return buffer

    def _watch(self, side: Side) -> None:
        """Watch what this side can do next. One that can do nothing is not watched: its end would wake the runner."""
        reads = not side.has_ended and not side.other.unsent
        wanted = (select.EPOLLIN if reads else 0) | (select.EPOLLOUT if side.unsent else 0)
        if wanted == side.watched:
            return
        if not wanted:
            self._poll.unregister(side.fd)
        elif side.watched:
            self._poll.modify(side.fd, wanted)
        else:
            self._poll.register(side.fd, wanted)
        side.watched = wanted

    def _drop(self, side: Side) -> None:
        for each in (side, side.other):
            del self._sides[each.fd]
            if each.watched:
                self._poll.unregister(each.fd)
            each.socket.close()
            each.unsent.close()
            if each.far is not None:
                each.far.close()


def _send(side: Side) -> None:
    """Send what this side takes now, and its end after the last bytes."""
    while side.unsent:
        try:
            side.unsent.empty(side.socket)
        except BlockingIOError:
            return
    if side.other.has_ended and not side.is_shut:
        side.is_shut = True
        side.socket.shutdown(_socket.SHUT_WR)
