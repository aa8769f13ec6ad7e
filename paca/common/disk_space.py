"""Free disk space: below a limit new work is refused, so that running work can still be stored."""

import shutil
from pathlib import Path

from paca.common import clock
from paca.common.errors import PacaError

MIN_FREE_MIB = 1024
# For this long after a failed write a database's disk counts as full. The database may be on another
# machine, where only a failed write shows it; and a turn that cannot be stored has cost a model call.
FULL_SECONDS = 15.0
FULL_DATABASE = (
    "The disk of the database is full: new data cannot be stored, and stored data is kept. "
    "An administrator has to free space there; then send it again."
)

_full_until = 0.0


class DiskFull(PacaError):
    """This server's disk is nearly full."""

    code = "disk_full"
    status = 507


def free_mib(folder: Path) -> int:
    """Free space in MiB on the disk of the folder, which need not exist yet."""
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    return shutil.disk_usage(existing).free >> 20


def report_database_full() -> None:
    """Note that the database has just refused a write because its disk is full."""
    global _full_until
    _full_until = clock.monotonic() + FULL_SECONDS


def database_is_full() -> bool:
    """Whether the database's disk was reported full in this process in the last 15 seconds."""
    return clock.monotonic() < _full_until


def has_space(folder: Path) -> bool:
    """Whether there is space for new work: in the folder and in the database."""
    return not database_is_full() and free_mib(folder) >= MIN_FREE_MIB


def require_space(folder: Path) -> None:
    """Raises ``DiskFull``, with the next step for a person, if there is no space for new work."""
    if database_is_full():
        raise DiskFull(FULL_DATABASE)
    free = free_mib(folder)
    if free < MIN_FREE_MIB:
        raise DiskFull(
            f"This server's disk is nearly full ({free} MiB are free): new work is refused, and "
            "running work continues. An administrator has to free space; then send it again.",
            folder=folder,
        )
