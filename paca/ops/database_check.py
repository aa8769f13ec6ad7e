"""Describes the database, SQLite or PostgreSQL, and explains why it cannot be used."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from paca.common.errors import ConfigurationError
from paca.ops import advice

MIN_POSTGRESQL_VERSION = 14  # the oldest that Django runs on
# The advisory lock held by the process that migrates a database: "paca" as a number.
MIGRATION_LOCK_KEY = 0x70616361
URL_EXAMPLE = "DATABASE_URL=postgres://user:password@host:5432/database"

# Parts of PostgreSQL's message, the cause as we word it, and the next step.
_CONNECTION_ERRORS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("too many clients", "too many connections for role", "remaining connection slots"),
        "has no free connection for {user}: other programs use all of them.",
        "close some of them, or raise max_connections there, or the limit of {user}.",
    ),
    (
        ("password authentication failed", "no password supplied", "role "),
        "rejects {user}: the name or the password is wrong.",
        "correct them in DATABASE_URL; an @ in the password is written %40, a / %2F.",
    ),
    (
        ("no pg_hba.conf entry",),
        "rejects {user} from this machine.",
        "add a line for it to pg_hba.conf of that PostgreSQL, or use another DATABASE_URL.",
    ),
    (
        ("does not exist",),
        "has no database {name}.",
        "create it, as an administrator there: CREATE DATABASE {name} OWNER {user};",
    ),
    (
        ("starting up", "shutting down", "not yet accepting", "in recovery mode"),
        "is not ready yet.",
        "run this again in a moment.",
    ),
)


def is_sqlite() -> bool:
    """Whether the database is an SQLite file on this machine."""
    return connection.vendor == "sqlite"


def sqlite_file() -> Path:
    """The path of the SQLite database."""
    return Path(connection.settings_dict["NAME"])


def exists() -> bool:
    """Whether the database exists. An SQLite file is not created by asking.

    Raises ``ConfigurationError`` with the reason if PostgreSQL cannot be used, or SQLite's file cannot
    be created.
    """
    if is_sqlite():
        if not sqlite_file().exists():
            _check_sqlite_folder()
            return False
        return True
    with closing(_connect()) as direct:
        _check_server(direct)
    return True


def _check_sqlite_folder() -> None:
    """The data folder is created when needed; a folder of ``DATABASE_URL`` must be there."""
    folder = sqlite_file().parent
    if folder == settings.PACA_DATA_DIR or (
        folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    ):
        return
    raise ConfigurationError(
        f"the database {sqlite_file()} cannot be created: {folder} is not a folder that this account can write to.",
        next_step=f"create it (mkdir -p {folder}), or choose another file with DATABASE_URL.",
    )


def display_name(*, brief: bool = False) -> str:
    """The file, or the database and its server. It never contains the password."""
    if is_sqlite():
        return sqlite_file().name if brief else str(sqlite_file())
    return f"{connection.settings_dict['NAME']} at {_server_address()}"


def engine_and_version() -> str:
    """ "SQLite", or "PostgreSQL 16.4"."""
    if is_sqlite():
        return "SQLite"
    major, minor = connection.get_database_version()
    return f"PostgreSQL {major}.{minor}"


def choose_another_hint() -> str:
    """The next step for a database that belongs to another program."""
    if is_sqlite():
        return f"choose another file: {advice.start_command('DATABASE_URL=sqlite:////path/to/paca.sqlite3')}"
    return f"choose an empty database: {advice.start_command(URL_EXAMPLE)}"


def restore_hint() -> str:
    """The next step for a database that cannot be read."""
    if is_sqlite():
        return "restore it from a backup, or move it away to start with an empty one."
    return "restore it from a backup, or choose an empty one with DATABASE_URL."


def may_create_tables() -> bool:
    """Whether this account may create tables. Since PostgreSQL 15 only the owner may by default.

    Raises ``ConfigurationError`` if PostgreSQL cannot be reached.
    """
    if is_sqlite():
        return True
    with closing(_connect()) as direct:
        (may,) = direct.execute(
            "SELECT has_schema_privilege(current_schema(), 'CREATE')"
        ).fetchone()
    return bool(may)


@contextmanager
def migration_lock() -> Iterator[None]:
    """Let one process at a time migrate the database; another one waits.

    An SQLite file needs no lock of its own: the lock on the data folder protects it.
    Raises ``ConfigurationError`` if PostgreSQL cannot be reached.
    """
    if is_sqlite():
        yield
        return
    # The lock belongs to this separate connection, so it is released however the process ends.
    with closing(_connect()) as direct:
        direct.execute("SET lock_timeout = 0")
        direct.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK_KEY])
        yield


def _server_address() -> str:
    given = connection.settings_dict
    host, port = given["HOST"], given["PORT"] or "5432"
    return f"{host}:{port}" if host and not host.startswith("/") else host or "this machine"


def _connect() -> Any:
    """A connection outside the pool, whose error would only be that it timed out."""
    driver: Any = connection.Database  # type: ignore[attr-defined] # of the backend
    try:
        return driver.connect(**connection.get_connection_params(), autocommit=True)
    except driver.Error as error:
        raise _connection_error(str(error)) from error


def _connection_error(message: str) -> ConfigurationError:
    facts = {"user": connection.settings_dict["USER"] or "you", "name": _database_name()}
    server = f"the PostgreSQL at {_server_address()}"
    fatal = message.partition("FATAL: ")[2].strip() or message.partition("fe_sendauth: ")[2]
    for fragments, cause, next_step in _CONNECTION_ERRORS:
        if any(fragment in fatal for fragment in fragments):
            return ConfigurationError(
                f"{server} {cause.format(**facts)}", next_step=next_step.format(**facts)
            )
    reason = fatal or message.rpartition("failed: ")[2]
    return ConfigurationError(
        f"{server} {'refuses the connection' if fatal else 'cannot be reached'}: {reason.splitlines()[0]}.",
        next_step=f"start it, or correct DATABASE_URL: {URL_EXAMPLE}",
    )


def _check_server(direct: Any) -> None:
    version = direct.info.server_version // 10_000
    if version < MIN_POSTGRESQL_VERSION:
        raise ConfigurationError(
            f"the PostgreSQL at {_server_address()} is version {version}, and Paca needs "
            f"{MIN_POSTGRESQL_VERSION} or newer.",
            next_step="update it, or choose another server: " + URL_EXAMPLE,
        )
    if direct.info.parameter_status("server_encoding") != "UTF8":
        raise ConfigurationError(
            f"the database {display_name()} does not store text as UTF-8.",
            next_step=f"create another: CREATE DATABASE {_database_name()}_utf8 ENCODING 'UTF8' TEMPLATE template0;",
        )
    if direct.info.parameter_status("in_hot_standby") == "on":
        raise ConfigurationError(
            f"the PostgreSQL at {_server_address()} is a read-only replica.",
            next_step=f"use the address of its primary server: {URL_EXAMPLE}",
        )


def _database_name() -> str:
    return str(connection.settings_dict["NAME"])
