"""Translates errors of the database: it is unavailable, or its disk is full."""

from django.db import Error, InterfaceError, OperationalError

from paca.common import disk_space
from paca.common.errors import PacaError

# The database restarts, is out of reach or has no space left. Other errors would come again on a retry.
UNAVAILABLE_ERRORS = (InterfaceError, OperationalError)
POSTGRESQL_DISK_FULL = "53100"  # its SQLSTATE
SQLITE_FULL = 13


class DatabaseUnavailable(PacaError):
    """The database does not answer. Try again in a moment, and look first: what you sent may be stored."""

    code = "unavailable"
    status = 503


def to_paca_error(error: Error) -> PacaError:
    """The error to answer with: ``DiskFull`` or ``DatabaseUnavailable``. A full disk is noted too."""
    if note_disk_full(error):
        return disk_space.DiskFull(disk_space.FULL_DATABASE)
    return DatabaseUnavailable()


def note_disk_full(error: Error) -> bool:
    """Whether the database's disk is full. If so, new work is refused for a while."""
    cause = error.__cause__
    is_full = (
        getattr(cause, "sqlstate", None) == POSTGRESQL_DISK_FULL
        or getattr(cause, "sqlite_errorcode", None) == SQLITE_FULL
    )
    if is_full:
        disk_space.report_database_full()
    return is_full
