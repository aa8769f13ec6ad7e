"""Logging: lines for a person at a terminal, JSON objects for a program."""

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

# The attributes that every LogRecord has; all others came from `extra` and are fields. Django adds the
# request object to its records, which is useless as text.
_STANDARD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "request",
}
# Secrets do not belong in a log. These patterns are masked in case one gets into a message.
_SECRETS = re.compile(
    r"(?P<keep>\bBearer\s+|[?&](?:ticket|token)=|/link/)[\w\-.~+/=]+|\b(?:paca_|sk-)[\w-]{12,}"
)


_log_context: ContextVar[Mapping[str, Any]] = ContextVar(
    "paca_log_context", default=MappingProxyType({})
)


@contextmanager
def log_context(**fields: Any) -> Iterator[None]:
    """Add these fields to every record that is logged inside the block."""
    before = _log_context.set({**_log_context.get(), **fields})
    try:
        yield
    finally:
        _log_context.reset(before)


class LogContextFilter(logging.Filter):
    """Adds the fields of ``log_context`` to each record. A field of the record itself wins."""

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in _log_context.get().items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


def masked(text: str) -> str:
    """The text with ``***`` in place of everything that looks like a token or a key."""
    return _SECRETS.sub(lambda found: f"{found['keep'] or ''}***", text)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(record).items()
        if name not in _STANDARD_ATTRIBUTES and value != ""
    }


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON: time, level, logger, message, then the fields of ``extra``."""

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
    """Formats a record for a person: time, level, logger, message, and the fields as ``name=value``."""

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
        # Without Django's own handlers, one of which mails administrators.
        "django": {"handlers": [], "level": "WARNING"},
    },
}
