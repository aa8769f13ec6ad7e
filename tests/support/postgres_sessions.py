"""Sessions of the test's database on PostgreSQL, seen and ended over a connection beside Django's."""

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
    """The number of connections to the test's database."""
    counted = execute(
        f"SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND {where}", database()
    )
    return int(counted[0][0])


def end_sessions() -> int:
    """End all sessions, as a restart of the server would, and wait for it; gives their number.

    The one of this thread goes into the pool first: like every thread, a test begins anew.
    """
    connection.close()
    ended = execute(
        "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE datname = %s",
        database(),
    )
    return len(ended)


def allow_connections(allowed: bool) -> None:
    """Allow or refuse new connections to the test's database."""
    execute(f'ALTER DATABASE "{database()}" ALLOW_CONNECTIONS {str(allowed).lower()}')


def database() -> str:
    return str(connection.settings_dict["NAME"])
