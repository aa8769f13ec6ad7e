"""Bytes on their way from one socket to another: in memory, or in a pipe, where they never leave the kernel.

The runner and the network gate both use it. Both take new bytes only when all others are passed on.
"""

from __future__ import annotations

import _socket
import fcntl
import os

BUFFER_BYTES = 256 << 10
# The most of one connection and direction. A pipe that cannot be made as large holds less.
PIPE_BYTES = 512 << 10
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux, which older versions of Python have no name for
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
    """Bytes on the way in the kernel. Raises ``OSError`` if no descriptor is left."""

    def __init__(self) -> None:
        self._out, self._into = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._count = 0
        _enlarge(self._into)

    def __len__(self) -> int:
        return self._count

    def fill(self, source: _socket.socket) -> int:
        """As that of ``Buffer``."""
        self._count = os.splice(source.fileno(), self._into, PIPE_BYTES, flags=FLAGS)
        return self._count

    def empty(self, target: _socket.socket) -> None:
        """As that of ``Buffer``."""
        self._count -= os.splice(self._out, target.fileno(), self._count, flags=FLAGS)

    def close(self) -> None:
        """Close the pipe, with what is in it."""
        os.close(self._out)
        os.close(self._into)


def _enlarge(pipe: int) -> None:
    try:
        fcntl.fcntl(pipe, SET_PIPE_SIZE, PIPE_BYTES)
    except OSError:  # the pipes of this user are many: it stays as it is
        return


def can_splice() -> bool:
    """Whether this system moves bytes from socket to socket through a pipe."""
    if not hasattr(os, "splice"):
        return False
    near, far = _socket.socketpair()
    pipe = Pipe()
    try:
        near.send(b"x")
        pipe.fill(far)
        pipe.empty(far)
        return near.recv(1, _socket.MSG_DONTWAIT) == b"x"
    except OSError:
        return False
    finally:
        for each in (near, far, pipe):
            each.close()
