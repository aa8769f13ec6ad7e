"""A connection of one's own to the PostgreSQL that the suite runs on, beside Django and its pool."""

from typing import Any

import psycopg
from django.db import connection


def execute(statement: str, *parameters: Any) -> list[Any]:
    """Run a statement in another database of that server; gives its rows."""
    given = connection.settings_dict
    with psycopg.connect(
        host=given["HOST"],
        port=given["PORT"],
        user=given["USER"],
        password=given["PASSWORD"],
        dbname="postgres",
        autocommit=True,
    ) as direct:
        cursor = direct.execute(statement, parameters or None)
        return cursor.fetchall() if cursor.description else []


def sessions(where: str = "true") -> int:
    """How many connections the test's database has now."""
    counted = execute(
        f"SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND {where}", database()
    )
    return int(counted[0][0])


def end_sessions() -> int:
    """Cut them all, as a restart of the server would, and wait until they are; gives how many.

    The one of this thread goes into the pool first: like every thread, a test begins anew.
    """
    connection.close()
    ended = execute(
        "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE datname = %s",
        database(),
    )
    return len(ended)


def allow_connections(allowed: bool) -> None:
    """Whether the test's database may be connected to."""
    execute(f'ALTER DATABASE "{database()}" ALLOW_CONNECTIONS {str(allowed).lower()}')


def database() -> str:
    return str(connection.settings_dict["NAME"])
