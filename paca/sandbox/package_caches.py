"""The folders in which the sandboxes of one project share downloaded packages. No other project sees them.

Whatever a sandbox writes there, another one of the project may install: they are as trustworthy as the least of them.
"""

from __future__ import annotations

import logging
import os
import struct
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from paca.sandbox import cache_tree
from paca.sandbox.base import FILES_PER_MIB

logger = logging.getLogger(__name__)
ROOT = "caches"
KEPT_SHARE = 0.75  # of the limit, after old files were removed
# The list of who may do what with new files: everybody all, whatever the program that makes them wants. With
# bubblewrap each sandbox of root has a user of its own. Others get to the folder by their mount only.
DEFAULT_ACL = "system.posix_acl_default"
EVERYBODY = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", who, 7, 0xFFFFFFFF) for who in (0x01, 0x04, 0x20)
)


class PackageCaches:
    """The caches of one installation on this machine. Another one may share the data folder."""

    def __init__(self, data_dir: Path, install_id: str) -> None:
        self._root = data_dir.resolve() / ROOT / install_id

    def prepare(self, project_id: UUID) -> Path:
        """The folder of a project, made if needed. Raises ``OSError``."""
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root.chmod(0o700)
        folder = self._root / str(project_id)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        with suppress(
            OSError
        ):  # a file system without such lists: what others have written is not used
            os.setxattr(folder, DEFAULT_ACL, EVERYBODY)
        return folder

    def list_projects(self) -> list[UUID]:
        """The projects that have a folder here."""
        found = []
        with suppress(FileNotFoundError):
            for path in self._root.iterdir():
                with suppress(ValueError):
                    found.append(UUID(path.name))
        return found

    def remove(self, project_id: UUID) -> None:
        """Remove the cache of a project."""
        folder = self._root / str(project_id)
        with suppress(OSError):
            for entry in cache_tree.walk(folder):
                with suppress(OSError):
                    entry.remove()
            folder.rmdir()

    def prune(self, project_id: UUID, *, most_mib: int) -> int:
        """Remove the oldest files if there is more than ``most_mib``; gives the bytes that were there."""
        folder = self._root / str(project_id)
        found, unreadable = _entries(folder)
        if unreadable:
            fields = {"project": str(project_id), "folders": unreadable}
            logger.warning("package cache has folders that cannot be read or bounded", extra=fields)
        entries = sorted(found, reverse=True)
        used = sum(size for _, size in entries)
        if used > most_mib << 20 or len(entries) > most_mib * FILES_PER_MIB:
            fields = {"project": str(project_id), "bytes": used}
            logger.info("package cache is pruned", extra=fields)
            _remove_until(folder, _newest_removed(entries, most_mib * KEPT_SHARE))
        return used


def _entries(folder: Path) -> tuple[list[tuple[int, int]], int]:
    """The time of the last change, in nanoseconds, and the bytes on the disk of all files and folders; and how many
    folders cannot be read."""
    found, unreadable = [], 0
    for entry in cache_tree.walk(folder):
        found.append((entry.found.st_mtime_ns, entry.found.st_blocks * 512))
        unreadable += not entry.is_readable
    return found, unreadable


def _newest_removed(entries: list[tuple[int, int]], most_mib: float) -> int:
    """The time up to which files are removed. ``entries``: the newest first.

    Programs can set such times. All that has the same time goes together, so that something goes in any case.
    """
    used = 0
    for number, (changed_at, size) in enumerate(entries):
        used += size
        if used > most_mib * (1 << 20) or number >= most_mib * FILES_PER_MIB:
            return changed_at
    return 0


def _remove_until(folder: Path, newest: int) -> None:
    """Remove files that are not newer, and folders without files. A sandbox may change both meanwhile."""
    for entry in cache_tree.walk(folder):
        # guard: package-cache-is-bounded
        if entry.is_folder or entry.found.st_mtime_ns <= newest:
            with suppress(OSError):
                entry.remove()
