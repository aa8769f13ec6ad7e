"""From the address of a database, as a person writes it, to what Django's settings want."""

import re
from pathlib import Path
from typing import Any

from paca.common import database_threads
from paca.common.errors import ConfigurationError

# An unreachable server is noticed within these, also where it vanished without a word.
POSTGRESQL_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "paca",
}
POOL_WAIT_SECONDS = 5
# Else a pool that could not connect for a while waits ever longer before it tries again.
POOL_RECONNECT_SECONDS = 5
POOL_IDLE_SECONDS = 120


def parse(url: str, *, name: str) -> dict[str, Any]:
    """The entry of ``DATABASES``. No complaint shows more of the address than a word of it.

    Raises ``ConfigurationError`` with the ``name`` of the variable.
    """
    scheme, separator, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return sqlite(Path(rest[1:]).absolute())
    if scheme in ("postgres", "postgresql") and separator:
        return _postgresql(url, name)
    raise ConfigurationError(
        f"{name} begins with {url.partition(':')[0]!r}, which is no database that Paca runs on.",
        next_step=f"{name}=sqlite:///folder/file or {name}=postgres://user:password@host:5432/database",
    )


def sqlite(file: Path) -> dict[str, Any]:
    """A file.

    One writer at a time by design: a read transaction that upgrades fails at once under WAL,
    whatever the busy timeout, so every transaction takes the write lock when it begins.
    """
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(file),
        # Opening one costs more than a step of a turn; whoever ends a thread closes its own.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 10,
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;",
        },
    }


def _postgresql(url: str, name: str) -> dict[str, Any]:
    """A server, with a pool from which each thread borrows while it works."""
    found = _parts(url, name)
    options = POSTGRESQL_DEFAULTS | {
        key: value
        for key, value in found.items()
        if key not in ("dbname", "user", "password", "host", "port")
    }
    return {
        "ENGINE": "paca.common.postgresql",
        "NAME": found["dbname"],
        "USER": found.get("user", ""),
        "PASSWORD": found.get("password", ""),
        "HOST": found.get("host", ""),
        "PORT": found.get("port", ""),
        "CONN_MAX_AGE": 0,  # given back to the pool after each request and each call
        "OPTIONS": options
        | {
            "pool": {
                "min_size": 0,
                # Nobody waits for a connection: there are as many as threads that can want one.
                "max_size": database_threads.TOTAL,
                "timeout": POOL_WAIT_SECONDS,
                "max_idle": POOL_IDLE_SECONDS,
                "reconnect_timeout": POOL_RECONNECT_SECONDS,
            }
        },
    }


def _parts(url: str, name: str) -> dict[str, Any]:
    """Host, user and so on, as PostgreSQL's own library reads them."""
    _refuse_a_raw_password(url, name)
    # Nothing of it is loaded where SQLite is used.
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        found = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise _unreadable(name, _said_of(error)) from None
    ports = str(found.get("port", "")).split(",")
    if not all(port.isdigit() or not port for port in ports):
        raise _unreadable(name, "its port is not a number")
    if not found.get("dbname"):
        raise _unreadable(name, "it names no database")
    return dict(found)


def _refuse_a_raw_password(url: str, name: str) -> None:
    """With a raw @ or / in the password, a part of it would be taken for the host, and shown."""
    before_the_query = url.partition("://")[2].partition("?")[0]
    if before_the_query.count("@") > 1 or "@" in before_the_query.partition("/")[2]:
        raise _unreadable(name, "it has an @ or a / too many")


def _said_of(error: Exception) -> str:
    unknown = re.match(r'invalid URI query parameter: "(\w+)"', str(error))
    return f"there is no parameter {unknown[1]}" if unknown else "it cannot be read"


def _unreadable(name: str, cause: str) -> ConfigurationError:
    return ConfigurationError(
        f"{name} is not a usable address of a PostgreSQL database: {cause}.",
        next_step=f"{name}=postgres://user:password@host:5432/database, where an @ in the password "
        "is written %40, a / %2F, a ? %3F and a % %25.",
    )
