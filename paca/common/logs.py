"""Logging: lines for a person at a terminal, JSON objects for a program.

Much of what is logged was sent by strangers, so each text is escaped and cut before it is written.
"""

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

from paca.common.secret_removal import without_remembered

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
    r"(?P<keep>\bBearer\s+|[?&](?:ticket|token)=|(?:/|%2F)(?:link|join)(?:/|%2F))[\w\-.~+/=]+|\b(?:paca_|sk-)[\w-]{12,}"
)
# Characters that move the cursor, begin a new line or change the order of text. A terminal or a viewer of
# logs obeys them, and a lone surrogate cannot be written at all.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
MAX_TEXT = 4_000  # characters of a message or field; a stranger may send a path of 64 KiB
MAX_TRACEBACK = 20_000
SECRET_MARGIN = 10_000  # no form of a secret is longer

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
    """The text with ``***`` in place of everything that looks like a token or a key, or is known to be one."""
    shown = _SECRETS.sub(lambda found: f"{found['keep'] or ''}***", text)
    # guard: logs-hold-no-known-secret
    return without_remembered(shown)


def escaped(text: str) -> str:
    """The text with control characters as ``\\x1b`` or ``\\u202e``, so that it stays in its line."""
    return _CONTROL.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def shortened(text: str, limit: int = MAX_TEXT) -> str:
    """The text, or its beginning and the number of characters that are left out."""
    if len(text) <= limit:
        return text
    # A cut must not leave a part of a secret that nothing recognises.
    # guard: cut-log-line-ends-before-a-secret
    shown = masked(text[: limit + SECRET_MARGIN])
    return f"{shown[:limit]}... ({len(text) - limit} more)"


def _message(record: logging.LogRecord) -> str:
    return shortened(record.getMessage().strip())


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {
        name: shortened(value) if isinstance(value, str) else value
        for name, value in vars(record).items()
        if name not in _STANDARD_ATTRIBUTES and value != ""
    }


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    """The traceback of the record, or an empty text. Its end names the error, so it is cut in front."""
    if not record.exc_info:
        return ""
    return masked(formatter.formatException(record.exc_info))[-MAX_TRACEBACK:]


def json_line(entry: Mapping[str, Any]) -> str:
    """The entry as one line of JSON, with all control characters escaped."""
    text = json.dumps(entry, default=lambda value: shortened(str(value)), ensure_ascii=False)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def start_line(level: str, message: str, **fields: str) -> str:
    """What a starting process says of itself, as JSON. It is not masked: a one-time link must be readable."""
    entry = {"at": _timestamp(time.time()), "level": level, "logger": "paca.start"}
    return json_line({**entry, "message": message, **fields})


def _timestamp(seconds: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}Z"


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON: time, level, logger, message, then the fields of ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "at": _timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        entry |= {name: value for name, value in _fields(record).items() if name not in entry}
        if traceback := _traceback(self, record):
            entry["exception"] = traceback
        return masked(json_line(entry))


class LineFormatter(logging.Formatter):
    """Formats a record for a person: time, level, logger, message, and the fields as ``name=value``."""

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%H:%M:%S", time.localtime(record.created))
        fields = "".join(
            f" {escaped(name)}={_quoted(value)}" for name, value in _fields(record).items()
        )
        message = escaped(_message(record))
        lines = [f"{when} {record.levelname.lower():<7} {record.name}: {message}{fields}"]
        # Indented, so that no line of an error's own text looks like a record.
        lines += [f"  {escaped(line)}" for line in _traceback(self, record).split("\n") if line]
        return masked("\n".join(lines))


def _quoted(value: object) -> str:
    """The value as it stands behind ``name=``: in quotes if it could be read as several fields."""
    text = escaped(shortened(str(value)))
    return json.dumps(text, ensure_ascii=False) if _NEEDS_QUOTES.search(text) else text


_NEEDS_QUOTES = re.compile(r"[\s\"=]")


def configuration(*, level: str, as_json: bool) -> dict[str, Any]:
    """The value of Django's ``LOGGING``: all records in one format to stderr.

    ``level``: the lowest level of Paca's own records that are written, such as ``INFO``.
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"paca": {"()": JsonFormatter if as_json else LineFormatter}},
        "filters": {
            "request_id": {"()": "paca.common.request_ids.RequestIdFilter"},
            "log_context": {"()": LogContextFilter},
            "client_errors": {"()": "paca.common.log_limits.ClientErrorFilter"},
        },
        "handlers": {
            "stderr": {
                "()": "paca.common.log_limits.LimitedHandler",
                "formatter": "paca",
                "filters": ["client_errors", "request_id", "log_context"],
            }
        },
        "root": {"handlers": ["stderr"], "level": max(level, "WARNING", key=_number)},
        "loggers": {
            "paca": {"level": level},
            # Without Django's own handlers, one of which mails administrators.
            "django": {"handlers": [], "level": max(level, "WARNING", key=_number)},
        },
    }


def writes_json(chosen: str) -> bool:
    """Whether the setting LOG_FORMAT means JSON; ``auto`` does unless stderr is a terminal."""
    return chosen == "json" or (chosen == "auto" and not sys.stderr.isatty())


def _number(level: str) -> int:
    return logging.getLevelNamesMapping()[level]
