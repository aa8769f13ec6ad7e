"""How happenings are logged: lines for a person at a terminal, JSON objects for a program."""

import json
import logging
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

# What a LogRecord carries by itself; anything else came from ``extra`` and is a field. Django adds
# the whole request to its own records, which says nothing as text.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "request"}
# Secrets have no business in a log; these shapes are masked in case one strays into a message.
_SECRETS = re.compile(
    r"(?P<keep>\bBearer\s+|[?&](?:ticket|token)=|/link/)[\w\-.~+/=]+|\b(?:paca_|sk-)[\w-]{12,}"
)


_log_context: ContextVar[Mapping[str, Any]] = ContextVar(
    "paca_log_log_context", default=MappingProxyType({})
)


@contextmanager
def log_context(**handles: Any) -> Iterator[None]:
    """Whatever is logged within, by whatever code, carries these fields as well."""
    before = _log_context.set({**_log_context.get(), **handles})
    try:
        yield
    finally:
        _log_context.reset(before)


class LogContextFilter(logging.Filter):
    """Adds the fields of ``log_context`` to each record; what the record says itself stands."""

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in _log_context.get().items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


def masked(text: str) -> str:
    """The text with what looks like a token or a key replaced."""
    return _SECRETS.sub(lambda found: f"{found['keep'] or ''}***", text)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _OWN and value != ""}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, then the fields of ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "at": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}"
            f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry.update(_fields(record))
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return masked(json.dumps(entry, default=str, ensure_ascii=False))


class LineFormatter(logging.Formatter):
    """The same for a person: time, level, logger, message, and the fields as ``name=value``."""

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%H:%M:%S", time.localtime(record.created))
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        line = f"{when} {record.levelname.lower():<7} {record.name}: {record.getMessage()}{fields}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return masked(line)


CONFIGURATION: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"paca": {"()": LineFormatter if sys.stderr.isatty() else JsonFormatter}},
    "filters": {
        "request_id": {"()": "paca.common.request_ids.RequestIdFilter"},
        "log_context": {"()": LogContextFilter},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "paca",
            "filters": ["request_id", "log_context"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "paca": {"level": "INFO"},
        # Django's own handler mails administrators; ours is the only one.
        "django": {"handlers": [], "level": "WARNING"},
    },
}
