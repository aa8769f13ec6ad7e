"""Parses the URL of a database into an entry of Django's ``DATABASES`` setting."""

import re
from pathlib import Path
from typing import Any

from paca.common import database_threads
from paca.common.errors import ConfigurationError

# With these an unreachable server is noticed, also one that disappeared without closing connections.
POSTGRESQL_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "paca",
}
# A commit that makes SQLite's write-ahead log longer than this copies the log into the database file, and
# waits for the disk. SQLite's own value is 1000, which every tenth conversation reaches. The worker makes
# checkpoints before the log is so long.
SQLITE_AUTOMATIC_CHECKPOINT_PAGES = 4000
POOL_WAIT_SECONDS = 5
# Without this a pool that cannot connect waits longer and longer before it tries again.
POOL_RECONNECT_SECONDS = 5
POOL_IDLE_SECONDS = 120


def parse(url: str, *, name: str) -> dict[str, Any]:
    """The entry of ``DATABASES`` for a URL.

    Raises ``ConfigurationError``, which names the variable ``name``. It quotes at most one word of the
    URL, so that it shows no password.
    """
    scheme, separator, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return sqlite(Path(rest[1:]).absolute())
    if scheme in ("postgres", "postgresql") and separator:
        return _postgresql(url, name)
    raise ConfigurationError(
        f"{name} begins with {url.partition(':')[0]!r}, which is not a database that Paca supports.",
        next_step=f"{name}=sqlite:///folder/file or {name}=postgres://user:password@host:5432/database",
    )


def sqlite(file: Path) -> dict[str, Any]:
    """The entry of ``DATABASES`` for an SQLite file.

    SQLite has one writer at a time. With WAL a transaction that begins with a read and then writes
    can fail at once, whatever the busy timeout. So every transaction takes the write lock when it
    begins.
    """
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(file),
        # Opening a connection costs more than a step of a turn. A thread closes its own when it ends.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 10,
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;"
            f"PRAGMA wal_autocheckpoint={SQLITE_AUTOMATIC_CHECKPOINT_PAGES};",
        },
    }


def _postgresql(url: str, name: str) -> dict[str, Any]:
    """The entry for a server, with a pool from which each thread borrows a connection while it works."""
    parts = _parse_url(url, name)
    options = POSTGRESQL_DEFAULTS | {
        key: value
        for key, value in parts.items()
        if key not in ("dbname", "user", "password", "host", "port")
    }
    return {
        "ENGINE": "paca.common.postgresql",
        "NAME": parts["dbname"],
        "USER": parts.get("user", ""),
        "PASSWORD": parts.get("password", ""),
        "HOST": parts.get("host", ""),
        "PORT": parts.get("port", ""),
        "CONN_MAX_AGE": 0,  # returned to the pool after each request and each call
        "OPTIONS": options
        | {
            "pool": {
                "min_size": 0,
                # As many as threads that use the database: no thread waits for a connection.
                "max_size": database_threads.TOTAL,
                "timeout": POOL_WAIT_SECONDS,
                "max_idle": POOL_IDLE_SECONDS,
                "reconnect_timeout": POOL_RECONNECT_SECONDS,
            }
        },
    }


def _parse_url(url: str, name: str) -> dict[str, Any]:
    """Host, user and so on, as PostgreSQL's own library parses them."""
    _refuse_unescaped_password(url, name)
    # Imported here, so that the library is not loaded where SQLite is used.
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        found = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise _unusable(name, _describe(error)) from None
    ports = str(found.get("port", "")).split(",")
    if not all(port.isdigit() or not port for port in ports):
        raise _unusable(name, "its port is not a number")
    if not found.get("dbname"):
        raise _unusable(name, "it names no database")
    return dict(found)


def _refuse_unescaped_password(url: str, name: str) -> None:
    """Refuse an unescaped @ or / in the password: part of it would be read as the host, and shown."""
    before_query = url.partition("://")[2].partition("?")[0]
    if before_query.count("@") > 1 or "@" in before_query.partition("/")[2]:
        raise _unusable(name, "it has an @ or a / too many")


def _describe(error: Exception) -> str:
    unknown = re.match(r'invalid URI query parameter: "(\w+)"', str(error))
    return f"there is no parameter {unknown[1]}" if unknown else "it cannot be read"


def _unusable(name: str, cause: str) -> ConfigurationError:
    return ConfigurationError(
        f"{name} is not a usable URL of a PostgreSQL database: {cause}.",
        next_step=f"{name}=postgres://user:password@host:5432/database, where an @ in the password "
        "is written %40, a / %2F, a ? %3F and a % %25.",
    )
