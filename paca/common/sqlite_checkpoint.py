"""Checkpoints of SQLite: they copy the write-ahead log into the database file."""

from django.db import connection

PASSES = 2


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
