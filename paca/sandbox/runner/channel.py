"""One connection between the runner and workers, which receives and sends frames without blocking."""

from __future__ import annotations

import os

from paca.sandbox.runner.frames import EVERYONE, RESEND, RESYNC, FrameParser, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONGESTED_BYTES = 256 << 10
READ_BYTES = 1 << 16  # what a pipe holds; for more the C library would map memory each time


class Channel:
    """A connection, by which one worker or several send and receive frames with nonces of their own.

    A channel with its own ``out_fd`` is ``shared``: all workers use it, as they do with a container's
    standard streams, and it does not report when one of them disconnects.
    """

    def __init__(self, fd: int, out_fd: int | None = None) -> None:
        self.fd = fd
        self.out_fd = fd if out_fd is None else out_fd
        self.shared = out_fd is not None
        self.is_blocked = False  # the other side does not read
        self._parser = FrameParser()
        self._unsent = bytearray()

    def receive(self) -> list[tuple[str, dict[str, Any]]] | None:
        """The frames that have arrived; None if the other side is gone."""
        try:
            data = os.read(self.fd, READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        frames = self._parser.feed(data)
        # guard: runner-asks-for-broken-frames-again
        if self.shared and self._parser.has_lost_frames:
            self._parser.has_lost_frames = False
            self.send({RESEND: True}, nonce=EVERYONE)
        return frames

    def send(self, message: dict[str, Any], *, nonce: str) -> None:
        """Queue a frame for the worker with this nonce; ``flush`` writes it."""
        self._unsent += encode(nonce, message)

    def flush(self) -> bool:
        """Write as much as the other side takes; True if bytes are left."""
        try:
            while self._unsent:
                del self._unsent[: os.write(self.out_fd, self._unsent[: 1 << 20])]
        except BlockingIOError:
            return True
        except OSError:  # the other side is gone, which ``receive`` reports
            self._unsent.clear()
        return False

    def drop_long_queue(self) -> None:
        """Drop what waits to be sent if it is much: it is for a worker that is gone."""
        if self.is_congested:
            self._unsent[:] = RESYNC

    @property
    def is_congested(self) -> bool:
        """Whether the worker reads too slowly, so that optional updates are left out."""
        return len(self._unsent) > CONGESTED_BYTES

    def close(self) -> None:
        """Close the descriptor that is read from."""
        os.close(self.fd)
