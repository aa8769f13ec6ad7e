"""Django's database backend for PostgreSQL, changed so that it never uses a dead connection."""

import select
from contextlib import suppress
from typing import Any

from django.db.backends.postgresql import base
from psycopg import Connection, OperationalError

from paca.common import clock

# A process that was stopped in the middle of a transaction must not block a conversation for ever, and
# a wait for a lock must end with an error. SQLite waits as long for a lock.
LIMITS = "SET idle_in_transaction_session_timeout = '30s'; SET lock_timeout = '10s'"


class DatabaseWrapper(base.DatabaseWrapper):
    """Checks that a connection of the pool is alive before it is used."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection[Any]:
        """A live connection. Raises ``OperationalError`` if there is none within the pool's timeout.

        After a restart of PostgreSQL all connections in the pool are dead, and they are dropped at
        once. The pool's own check would drop them one by one, with longer and longer pauses.
        """
        connection: Connection[Any] = super().get_new_connection(conn_params)
        if self.pool is None:
            return connection
        end = clock.monotonic() + self.pool.timeout
        while not _is_alive(connection):
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


def _is_alive(connection: Connection[Any]) -> bool:
    """Whether the server has not closed the connection. Only then an idle one has nothing to read."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if not poll.poll(0):
        return True
    with suppress(OperationalError):
        connection.execute("")
        return True
    return False
