"""Bounds on what strangers can make a process log: how many lines, and as which level."""

import logging
import threading
import traceback
from collections import Counter
from dataclasses import dataclass

from paca.common import clock

WINDOW_SECONDS = 10.0
MAX_LINES = 20  # of one kind in one window
# Requests and connections cause the records of these loggers. Those of workers are not limited.
LIMITED_LOGGERS = (
    "asyncio",
    "daphne",
    "django",
    "paca.accounts",
    "paca.common",
    "paca.ops.connections",
    "paca.realtime",
    "paca.web",
    "uvicorn",
    "websockets",
)
# A health check that answers "not ready" has done its work.
PROBES = ("/healthz", "/readyz", "/metrics")


class ClientErrorFilter(logging.Filter):
    """Drops what Django logs of health checks, and makes errors of clients short warnings."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if getattr(request, "path", None) in PROBES and not record.exc_info:
            return False
        if 400 <= getattr(record, "status_code", 0) < 500:
            # A traceback helps only with an error of the server.
            record.exc_info = None
            record.exc_text = None
            record.levelno = min(record.levelno, logging.WARNING)
            record.levelname = logging.getLevelName(record.levelno)
        return True


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where in the code a record was logged, and where its error was raised: a flood hides only its like."""

    logger: str
    level: int
    logged: tuple[str, int]
    raised: tuple[str, int] | None

    @classmethod
    def of(cls, record: logging.LogRecord) -> "_Kind":
        raised = None
        if record.exc_info and (frames := list(traceback.walk_tb(record.exc_info[2]))):
            frame, line = frames[-1]
            raised = (frame.f_code.co_filename, line)
        return cls(record.name, record.levelno, (record.pathname, record.lineno), raised)


class LimitedHandler(logging.StreamHandler):  # type: ignore[type-arg] # stderr, as the original
    """Writes to stderr; of many records of one kind it writes some, and then their number."""

    def __init__(self, *, window_seconds: float = WINDOW_SECONDS) -> None:
        super().__init__()
        self._window_seconds = window_seconds
        self._window_end = 0.0
        self._counts: Counter[_Kind] = Counter()
        self._timer: threading.Timer | None = None
        self._counting = threading.RLock()

    def handle(self, record: logging.LogRecord) -> bool:
        """Write the record, if its filters let it pass and it is not one of too many."""
        if not self.filter(record):
            return False
        # guard: log-lines-of-strangers
        if not record.name.startswith(LIMITED_LOGGERS) or self._has_room(record):
            return bool(super().handle(record))
        return False

    def close(self) -> None:
        """Write what is left of the summary; the process ends."""
        self.write_summary()
        super().close()

    def write_summary(self) -> None:
        """Write how many records of each kind were left out, and begin to count anew."""
        with self._counting:
            counts, self._counts, self._timer = self._counts, Counter(), None
        for kind, count in counts.items():
            if count > MAX_LINES:
                text = f"{count - MAX_LINES} more such lines within {self._window_seconds:g} s"
                super().handle(
                    logging.LogRecord(kind.logger, kind.level, *kind.logged, text, (), None)
                )

    def _has_room(self, record: logging.LogRecord) -> bool:
        if clock.monotonic() >= self._window_end:
            self.write_summary()
            self._window_end = clock.monotonic() + self._window_seconds
        kind = _Kind.of(record)
        with self._counting:
            self._counts[kind] += 1
            if self._counts[kind] <= MAX_LINES:
                return True
            self._write_summary_later()
            return False

    def _write_summary_later(self) -> None:
        """In case nothing else is logged when the window has ended."""
        if self._timer is None:
            self._timer = threading.Timer(self._window_seconds, self.write_summary)
            self._timer.daemon = True
            self._timer.start()
