"""Room on the disk: below a limit no new work begins, so that what runs can still be stored."""

import shutil
from pathlib import Path

from paca.common.errors import PacaError

LEAST_FREE_MIB = 1024


class DiskFull(PacaError):
    """This server's disk is nearly full."""

    code = "disk_full"
    status = 507


def free_mib(folder: Path) -> int:
    """How much room is left where the folder is, or will be."""
    place = next(each for each in (folder, *folder.parents) if each.exists())
    return shutil.disk_usage(place).free >> 20


def is_left(folder: Path) -> bool:
    """Whether new work may begin."""
    return free_mib(folder) >= LEAST_FREE_MIB


def check(folder: Path) -> None:
    """Raises ``DiskFull``: what it means and what to do."""
    free = free_mib(folder)
    if free < LEAST_FREE_MIB:
        raise DiskFull(
            f"This server's disk is nearly full ({free} MiB are free): new work is refused, and what "
            "runs goes on. An administrator has to make room; then send it again.",
            folder=folder,
        )
