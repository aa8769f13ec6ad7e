"""The database backend for PostgreSQL: Django's own, which never hands out a dead connection."""

import select
from contextlib import suppress
from typing import Any

from django.db.backends.postgresql import base
from psycopg import Connection, OperationalError

from paca.common import clock

# A process that was stopped in the middle of a transaction must not hold a conversation for ever,
# and whoever waits for a lock is told so in time. SQLite's wait is as long.
LIMITS = "SET idle_in_transaction_session_timeout = '30s'; SET lock_timeout = '10s'"


class DatabaseWrapper(base.DatabaseWrapper):
    """Asks a connection of the pool for signs of its end before it is used."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection[Any]:
        """After a restart of PostgreSQL all that wait in the pool are dead: they go at once.

        The pool's own check drops them one by one, with ever longer pauses.
        """
        connection: Connection[Any] = super().get_new_connection(conn_params)
        if self.pool is None:
            return connection
        end = clock.monotonic() + self.pool.timeout
        while not _is_sound(connection):
            connection.close()
            self.pool.putconn(connection)
            self.pool.check()
            if clock.monotonic() > end:
                raise OperationalError("every connection of the pool was lost")
            connection = super().get_new_connection(conn_params)
        return connection

    def _configure_connection(self, connection: Connection[Any]) -> bool:
        connection.execute(LIMITS)
        return bool(super()._configure_connection(connection))  # type: ignore[misc] # no stub


def _is_sound(connection: Connection[Any]) -> bool:
    """Nothing is to be read from an idle connection, unless the server has ended it."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if not poll.poll(0):
        return True
    with suppress(OperationalError):
        connection.execute("")
        return True
    return False
