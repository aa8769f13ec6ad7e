"""Bytes on their way from one socket to another: in memory, or in a pipe, where they never leave the kernel.

The runner and the network gate both use it. Both take new bytes only when all others are passed on.
"""

from __future__ import annotations

import _socket
import errno
import fcntl
import os
import struct
import time

BUFFER_BYTES = 256 << 10
# The most of one connection and direction. A pipe that cannot be made as large holds less.
PIPE_BYTES = 512 << 10
# The kernel gives a user with many pipes only tiny ones. To copy is faster then.
MIN_PIPE_BYTES = 64 << 10
URGENT_BYTES = 4096  # an empty pipe takes as many in one piece
SET_PIPE_SIZE, GET_PIPE_SIZE = (
    1031,
    1032,
)  # of Linux; older versions of Python have no names for them
TRIAL_SECONDS, BLOCKED_SECONDS = 0.4, 0.3
FLAGS = getattr(os, "SPLICE_F_MOVE", 0) | getattr(os, "SPLICE_F_NONBLOCK", 0)
# Less of one direction is not worth a pipe.
SPLICE_FROM_BYTES = 1 << 20


class Buffer:
    """Bytes on the way in memory. ``passed``: how many there were so far. Its length: how many are here now."""

    def __init__(self) -> None:
        self._data = memoryview(b"")
        self.passed = 0

    def __len__(self) -> int:
        return len(self._data)

    def fill(self, source: _socket.socket) -> int:
        """Take what the source has; 0 at its end. Raises ``OSError``, as ``BlockingIOError`` if it has nothing now."""
        self._data = memoryview(source.recv(BUFFER_BYTES))
        self.passed += len(self._data)
        return len(self._data)

    def empty(self, target: _socket.socket) -> None:
        """Give what the target takes now. Raises ``OSError``, as ``BlockingIOError`` if it takes nothing."""
        self._data = self._data[target.send(self._data) :]

    def close(self) -> None:
        """Drop what is here."""
        self._data = memoryview(b"")


class Pipe:
    """Bytes on the way in the kernel. Raises ``OSError`` if no descriptor is left, or the pipe would be tiny."""

    def __init__(self) -> None:
        self._out, self._into = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._count = 0
        if _enlarge(self._into) < MIN_PIPE_BYTES:
            self.close()
            raise OSError(errno.ENOBUFS, "the pipes of this user are many")

    def __len__(self) -> int:
        return self._count

    def fill(self, source: _socket.socket) -> int:
        """As that of ``Buffer``."""
        try:
            self._count = os.splice(source.fileno(), self._into, PIPE_BYTES, flags=FLAGS)
        except BlockingIOError:
            self._count = 0
        # The kernel moves no urgent byte of TCP and none after it: the socket would be readable for ever, or seem to
        # have ended. To read passes over it.
        if not self._count:
            self._count = os.write(self._into, source.recv(URGENT_BYTES))
        return self._count

    def empty(self, target: _socket.socket) -> None:
        """As that of ``Buffer``."""
        self._count -= os.splice(self._out, target.fileno(), self._count, flags=FLAGS)

    def close(self) -> None:
        """Close the pipe, with what is in it."""
        os.close(self._out)
        os.close(self._into)


def _enlarge(pipe: int) -> int:
    """The size of the pipe, which is made as large as it may be."""
    try:
        return fcntl.fcntl(pipe, SET_PIPE_SIZE, PIPE_BYTES)
    except OSError:  # the pipes of this user are many: it stays as it is
        return fcntl.fcntl(pipe, GET_PIPE_SIZE)


def can_splice() -> bool:
    """Whether this system moves bytes from socket to socket through a pipe, and never waits for a socket that is full."""
    if not hasattr(os, "splice"):
        return False
    near, far = _socket.socketpair()
    opened: list[_socket.socket | Pipe] = [near, far]
    try:
        pipe = Pipe()
        opened.append(pipe)
        near.send(b"x")
        pipe.fill(far)
        pipe.empty(far)
        return near.recv(1, _socket.MSG_DONTWAIT) == b"x" and not _waits(pipe, near, far)
    except OSError:
        return False
    finally:
        for each in opened:
            each.close()


def _waits(pipe: Pipe, near: _socket.socket, far: _socket.socket) -> bool:
    """Whether a full socket holds up this process, as it does with Linux 6.5 to 6.7. Raises ``OSError``."""
    limit = struct.pack("ll", 0, int(TRIAL_SECONDS * 1e6))
    far.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, limit)
    far.setblocking(False)
    near.send(b"x")
    try:
        while True:
            far.send(bytes(BUFFER_BYTES))
    except BlockingIOError:
        pipe.fill(far)
    began = time.monotonic()
    try:
        pipe.empty(far)
    except BlockingIOError:
        return time.monotonic() - began > BLOCKED_SECONDS
    return True
