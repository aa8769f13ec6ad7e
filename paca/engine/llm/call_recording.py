"""Records what a model call sends and gets, for the trace of its conversation.

A recording belongs to the task that makes the call. Nothing is copied, encoded or masked while the call
runs: that is done when its trace is stored.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from paca.common import clock

# A call has one exchange, and some more if its request is sent again in another form or asked for in polls.
MAX_EXCHANGES = 30
MAX_REFUSAL_BYTES = 256 * 1024

Headers = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class Exchange:
    """One HTTP request and what came back. Times are of the monotonic clock; None: it did not come.

    ``refusal`` is the beginning of the body of an answer that is no success. ``error``: the connection failed.
    """

    method: str
    url: str
    headers: Headers
    body: bytes
    asked: float
    status: int | None = None
    reply_headers: Headers = field(default_factory=list)
    refusal: bytes = b""
    first_byte: float | None = None
    last_byte: float | None = None
    error: str = ""


@dataclass(slots=True)
class CallRecording:
    """The exchanges of one attempt. ``secrets`` are the values that its adapter knows.

    ``left_out`` counts exchanges beyond the limit.
    """

    asked_at: float = field(default_factory=time.time)
    started: float = field(default_factory=clock.monotonic)
    exchanges: list[Exchange] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)
    left_out: int = 0

    def add(self, exchange: Exchange) -> None:
        """Add an exchange that begins now."""
        if len(self.exchanges) < MAX_EXCHANGES:
            self.exchanges.append(exchange)
        else:
            self.left_out += 1


_current: ContextVar[CallRecording | None] = ContextVar("model call recording", default=None)


def current() -> CallRecording | None:
    """The recording of the model call that this task makes; None if it is not traced."""
    return _current.get()


def add_secret(value: str) -> None:
    """Let the trace of the running call, if it has one, hold this value nowhere."""
    if (recording := _current.get()) is not None:
        recording.secrets.add(value)


def begin() -> CallRecording:
    """Record the model calls of this task from now on; gives the recording."""
    recording = CallRecording()
    _current.set(recording)
    return recording


def end() -> None:
    """Record no further exchange of this task."""
    _current.set(None)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Record nothing in this block, as while a key is exchanged for an access token."""
    # guard: token-exchange-is-not-traced
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)
