"""Which database this is, in words, and why it cannot be used: an SQLite file or a PostgreSQL."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.db import connection

from paca.common.errors import ConfigurationError

LEAST_POSTGRESQL = 14  # the oldest that Django runs on
# "paca" as a number: whoever changes the tables of a database holds this lock of it.
MIGRATING = 0x70616361
ADDRESS = "DATABASE_URL=postgres://user:password@host:5432/database"

# What PostgreSQL says, and what that means for whoever starts Paca.
_REFUSALS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("too many clients", "too many connections for role", "remaining connection slots"),
        "has no connection left for {user}: others use all of them.",
        "end some of them, or raise max_connections there, or the limit of {user}.",
    ),
    (
        ("password authentication failed", "no password supplied", "role "),
        "does not let {user} in: the name or the password is wrong.",
        "correct them in DATABASE_URL; an @ in the password is written %40, a / %2F.",
    ),
    (
        ("no pg_hba.conf entry",),
        "does not let {user} in from this machine.",
        "add a line for it to pg_hba.conf of that PostgreSQL, or use another DATABASE_URL.",
    ),
    (
        ("does not exist",),
        "has no database {name}.",
        "make it, as an administrator there: CREATE DATABASE {name} OWNER {user};",
    ),
    (
        ("starting up", "shutting down", "not yet accepting", "in recovery mode"),
        "is not ready yet.",
        "run this again in a moment.",
    ),
)


def is_file() -> bool:
    """Whether the database is a file on this machine."""
    return connection.vendor == "sqlite"


def file() -> Path:
    """The file of an SQLite database."""
    return Path(connection.settings_dict["NAME"])


def is_there() -> bool:
    """Whether it can be opened without making it. Raises ``ConfigurationError`` with the reason."""
    if is_file():
        return file().exists()
    with closing(_connect()) as direct:
        _check_server(direct)
    return True


def name(*, brief: bool = False) -> str:
    """What people call it; never with the password."""
    if is_file():
        return file().name if brief else str(file())
    return f"{connection.settings_dict['NAME']} of {_server()}"


def kind() -> str:
    """Which program keeps it, with the version where it is not part of Python."""
    if is_file():
        return "SQLite"
    major, minor = connection.get_database_version()
    return f"PostgreSQL {major}.{minor}"


def another() -> str:
    """How to choose another one."""
    if is_file():
        return "choose another file: DATABASE_URL=sqlite:////path/to/paca.sqlite3 make run"
    return f"choose an empty one: {ADDRESS} make run"


def remedy() -> str:
    """What to do when this one cannot be used, and why is told already."""
    if is_file():
        return "restore it from a backup, or move it away to begin with an empty one."
    return "restore it from a backup, or choose an empty one with DATABASE_URL."


def may_make_tables() -> bool:
    """Since PostgreSQL 15 only a database's owner may, unless told otherwise."""
    if is_file():
        return True
    with closing(_connect()) as direct:
        (may,) = direct.execute(
            "SELECT has_schema_privilege(current_schema(), 'CREATE')"
        ).fetchone()
    return bool(may)


@contextmanager
def alone() -> Iterator[None]:
    """No two processes bring the same database to this version at once: the later one waits.

    A file is kept for one process by the lock on its folder already.
    """
    if is_file():
        yield
        return
    # On a connection of its own: the lock belongs to it, and goes with it however this ends.
    with closing(_connect()) as direct:
        direct.execute("SET lock_timeout = 0")
        direct.execute("SELECT pg_advisory_lock(%s)", [MIGRATING])
        yield


def _server() -> str:
    given = connection.settings_dict
    host, port = given["HOST"], given["PORT"] or "5432"
    return f"{host}:{port}" if host and not host.startswith("/") else host or "this machine"


def _connect() -> Any:
    """A connection beside the pool, which would only say that it had waited in vain."""
    driver: Any = connection.Database  # type: ignore[attr-defined] # of the backend
    try:
        return driver.connect(**connection.get_connection_params(), autocommit=True)
    except driver.Error as error:
        raise _unusable(str(error)) from error


def _unusable(said: str) -> ConfigurationError:
    facts = {"user": connection.settings_dict["USER"] or "you", "name": _database()}
    server = f"the PostgreSQL at {_server()}"
    fatal = said.partition("FATAL: ")[2].strip() or said.partition("fe_sendauth: ")[2]
    for signs, cause, next_step in _REFUSALS:
        if any(sign in fatal for sign in signs):
            return ConfigurationError(
                f"{server} {cause.format(**facts)}", next_step=next_step.format(**facts)
            )
    reason = fatal or said.rpartition("failed: ")[2]
    return ConfigurationError(
        f"{server} {'refuses' if fatal else 'cannot be reached'}: {reason.splitlines()[0]}.",
        next_step=f"start it, or correct the address: {ADDRESS}",
    )


def _check_server(direct: Any) -> None:
    version = direct.info.server_version // 10_000
    if version < LEAST_POSTGRESQL:
        raise ConfigurationError(
            f"the PostgreSQL at {_server()} is version {version}, and Paca needs "
            f"{LEAST_POSTGRESQL} or newer.",
            next_step="update it, or choose another: " + ADDRESS,
        )
    if direct.info.parameter_status("server_encoding") != "UTF8":
        raise ConfigurationError(
            f"the database {name()} does not keep text as UTF-8.",
            next_step=f"make another: CREATE DATABASE {_database()}_utf8 ENCODING 'UTF8' TEMPLATE template0;",
        )
    if direct.info.parameter_status("in_hot_standby") == "on":
        raise ConfigurationError(
            f"the PostgreSQL at {_server()} is a copy that cannot be written to.",
            next_step=f"use the address of the one it copies: {ADDRESS}",
        )


def _database() -> str:
    return str(connection.settings_dict["NAME"])
