"""One connection of a worker: frames in, frames out, never blocking."""

from __future__ import annotations

import os

from paca.sandbox.runner.frames import RESYNC, FrameParser, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONGESTED_BYTES = 256 << 10


class Channel:
    """``nonce`` is empty until the worker has attached over it.

    ``shared``: all workers come over this one, as over a container's standard streams; it is
    written to at ``out`` and says nothing when one of them goes away.
    """

    def __init__(self, fd: int, out_fd: int | None = None) -> None:
        self.fd = fd
        self.out_fd = fd if out_fd is None else out_fd
        self.shared = out_fd is not None
        self.nonce = ""
        self.is_blocked = False  # the socket takes no more for now
        self._parser = FrameParser()
        self._unsent = bytearray()

    def receive(self) -> list[tuple[str, dict[str, Any]]] | None:
        """The frames that have come; None when the other side is gone."""
        try:
            data = os.read(self.fd, 1 << 18)
        except BlockingIOError:
            return []
        except OSError:
            return None
        return self._parser.feed(data) if data else None

    def send(self, message: dict[str, Any], *, nonce: str | None = None) -> None:
        """Queue a frame; ``flush`` writes it."""
        self._unsent += encode(self.nonce if nonce is None else nonce, message)

    def flush(self) -> bool:
        """Write what fits; True if more waits."""
        try:
            while self._unsent:
                del self._unsent[: os.write(self.out_fd, self._unsent[: 1 << 20])]
        except BlockingIOError:
            return True
        except OSError:  # gone; ``receive`` will say so
            self._unsent.clear()
        return False

    def attach(self, nonce: str) -> None:
        """From now on this worker. Much that another has left unread would only hold it up."""
        if self.is_congested:
            self._unsent[:] = RESYNC
        if self.nonce not in ("", nonce):
            self.send({"superseded": True})
        self.nonce = nonce

    @property
    def is_congested(self) -> bool:
        """The worker does not keep up: show it nothing that it can do without."""
        return len(self._unsent) > CONGESTED_BYTES

    def close(self) -> None:
        os.close(self.fd)
