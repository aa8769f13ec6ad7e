"""Lists the entries of folders, with each folder's own entries directly after it."""

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
    """One entry in the form that the worker expects."""
    kind = KINDS.get(stat.S_IFMT(found.st_mode), "other")
    return {"path": path, "kind": kind, "size": found.st_size, "modified": found.st_mtime}


def collect_entries(
    found: list[dict[str, Any]], fd: int, prefix: str, depth: int, limit: int
) -> None:
    """Add up to ``limit`` entries of the folder ``fd`` to ``found``, ordered by name, and close ``fd``.

    ``prefix``: the folder's path with a slash. ``depth``: how many levels are listed.
    """
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
    except OSError:  # it was removed meanwhile, or its permissions forbid reading
        return
