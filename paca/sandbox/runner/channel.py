"""One connection of a worker: frames in, frames out, never blocking."""

from __future__ import annotations

import os

from paca.sandbox.runner.frames import RESYNC, Parser, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CROWDED = 256 << 10


class Channel:
    """``nonce`` is empty until the worker has attached over it.

    ``shared``: all workers come over this one, as over a container's standard streams; it is
    written to at ``out`` and says nothing when one of them goes away.
    """

    def __init__(self, fd: int, out: int | None = None) -> None:
        self.fd = fd
        self.out = fd if out is None else out
        self.shared = out is not None
        self.nonce = ""
        self.stuck = False  # the socket takes no more for now
        self._parser = Parser()
        self._waiting = bytearray()

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
        self._waiting += encode(self.nonce if nonce is None else nonce, message)

    def flush(self) -> bool:
        """Write what fits; True if more waits."""
        try:
            while self._waiting:
                del self._waiting[: os.write(self.out, self._waiting[: 1 << 20])]
        except BlockingIOError:
            return True
        except OSError:  # gone; ``receive`` will say so
            self._waiting.clear()
        return False

    def begin(self, nonce: str) -> None:
        """From now on this worker. Much that another has left unread would only hold it up."""
        if self.crowded:
            self._waiting[:] = RESYNC
        if self.nonce not in ("", nonce):
            self.send({"superseded": True})
        self.nonce = nonce

    @property
    def crowded(self) -> bool:
        """The worker does not keep up: show it nothing that it can do without."""
        return len(self._waiting) > CROWDED

    def close(self) -> None:
        os.close(self.fd)
