"""Room on the disk: below a limit no new work begins, so that what runs can still be stored."""

import shutil
from pathlib import Path

from paca.common import clock
from paca.common.errors import PacaError

MIN_FREE_MIB = 1024
# For so long a database that was out of room is believed to be so. It may be on another machine, where
# only a failing write tells; and each turn that cannot be stored has cost a model call.
FULL_SECONDS = 15.0
FULL_DATABASE = (
    "The disk of the database is full: nothing new can be stored, and what is stored is kept. "
    "An administrator has to make room there; then send it again."
)

_full_until = 0.0


class DiskFull(PacaError):
    """This server's disk is nearly full."""

    code = "disk_full"
    status = 507


def free_mib(folder: Path) -> int:
    """How much room is left where the folder is, or will be."""
    place = next(each for each in (folder, *folder.parents) if each.exists())
    return shutil.disk_usage(place).free >> 20


def report_database_full() -> None:
    """The database has just refused a write for want of room."""
    global _full_until
    _full_until = clock.monotonic() + FULL_SECONDS


def database_is_full() -> bool:
    """Whether it was told a moment ago, in this process."""
    return clock.monotonic() < _full_until


def has_space(folder: Path) -> bool:
    """Whether new work may begin."""
    return not database_is_full() and free_mib(folder) >= MIN_FREE_MIB


def require_space(folder: Path) -> None:
    """Raises ``DiskFull``: what it means and what to do."""
    if database_is_full():
        raise DiskFull(FULL_DATABASE)
    free = free_mib(folder)
    if free < MIN_FREE_MIB:
        raise DiskFull(
            f"This server's disk is nearly full ({free} MiB are free): new work is refused, and what "
            "runs goes on. An administrator has to make room; then send it again.",
            folder=folder,
        )
