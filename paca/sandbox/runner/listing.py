"""What stands in a folder: names as they can be display_name, each folder's own entries right after it."""

from __future__ import annotations

import os
import stat

from paca.sandbox.runner.safe_path import display_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ENTRIES = 2000
MAX_SCANNED = 20_000
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


def describe_entry(path: str, found: os.stat_result) -> dict[str, Any]:
    """One entry as the worker gets it."""
    kind = KINDS.get(stat.S_IFMT(found.st_mode), "other")
    return {"path": path, "kind": kind, "size": found.st_size, "modified": found.st_mtime}


def collect_entries(
    found: list[dict[str, Any]], fd: int, prefix: str, depth: int, limit: int
) -> None:
    """Enter a folder's entries by name, each folder's own right after it. Closes ``fd``."""
    try:
        with os.scandir(fd) as entries:
            names = sorted(
                entry.name for entry, _ in zip(entries, range(MAX_SCANNED), strict=False)
            )
        for name in names:
            if len(found) >= limit:
                return
            if prefix == "" and name == ".paca":
                continue
            _collect_entry(found, fd, name, prefix, depth, limit)
    finally:
        os.close(fd)


def _collect_entry(
    found: list[dict[str, Any]], fd: int, name: str, prefix: str, depth: int, limit: int
) -> None:
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
        path = prefix + display_name(os.fsencode(name))
        found.append(describe_entry(path, status))
        if depth > 1 and stat.S_ISDIR(status.st_mode) and name != ".git":
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
            collect_entries(found, inner, f"{path}/", depth - 1, limit)
    except OSError:  # gone meanwhile, or closed to its own owner
        return
