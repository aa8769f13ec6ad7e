"""Checkpoints of SQLite: they copy the write-ahead log into the database file."""

from django.db import connection

PASSES = 2
LAST_WAIT_MILLISECONDS = 2000


def checkpoint() -> bool:
    """Copy the log, beside the commits of other threads; True if nothing is left to copy.

    A commit during the first pass leaves a short rest for the second. SQLite begins the log anew only
    after a whole copy. It does nothing on another database. A process that dies meanwhile loses nothing:
    the log stays until it is copied, and the next checkpoint copies it again.
    """
    if connection.vendor != "sqlite":
        return True
    with connection.cursor() as cursor:
        for _ in range(PASSES):
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
            is_blocked, pages, copied = cursor.fetchone()
            if not is_blocked and pages == copied:
                return True
    return False


def empty_log() -> None:
    """Copy the whole log and empty it, at the end of the process; closes the connection of this thread.

    SQLite does so when the last connection closes, but a thread that ends with the process closes none,
    and neither does a program that reads the database. People copy the database file of a stopped
    server, so it has to be whole. Raises ``OperationalError`` on a full disk; then the log stays, and
    nothing is lost.
    """
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout={LAST_WAIT_MILLISECONDS}")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
