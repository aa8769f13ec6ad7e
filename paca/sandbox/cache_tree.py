"""Walks a tree of files that sandboxes write and change meanwhile, with few open descriptors and without recursion."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MAX_DEPTH = 64
MAX_MOVED = 10_000  # in one walk; the next one goes on
FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder by its name in the folder of an open descriptor, which is closed when the walk goes on."""

    name: str
    parent: int
    found: os.stat_result
    is_readable: bool = True

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder. A link to one is none."""
        return stat.S_ISDIR(self.found.st_mode)

    def remove(self) -> None:
        """Remove the file, or the folder if it is empty. Raises ``OSError``."""
        if self.is_folder:
            os.rmdir(self.name, dir_fd=self.parent)
        else:
            os.unlink(self.name, dir_fd=self.parent)


@dataclass(slots=True)
class _Level:
    descriptor: int
    entry: Entry | None  # None for the top
    names: list[str]


def walk(top: Path) -> Iterator[Entry]:
    """All that is below a folder, each folder after what is in it. Links are not followed.

    Folders that are nested too deep are moved up to the top: a sandbox could nest so many that no program can go
    down to the last. Raises ``OSError`` if the top cannot be read.
    """
    levels = [_open_level(os.open(top, os.O_RDONLY | FOLDER), None)]
    moved = 0
    try:
        while levels:
            level = levels[-1]
            if not level.names:
                os.close(levels.pop().descriptor)
                if level.entry is not None:
                    yield level.entry
                continue
            if (entry := _look(level)) is None:
                continue
            if entry.is_folder and len(levels) > MAX_DEPTH:
                if moved < MAX_MOVED and (name := _move_up(entry, levels[0].descriptor)):
                    moved += 1
                    levels[0].names.append(name)
                continue
            yield from _enter(entry, levels)
    finally:
        for level in levels:
            os.close(level.descriptor)


def _open_level(descriptor: int, entry: Entry | None) -> _Level:
    try:
        return _Level(descriptor, entry, os.listdir(descriptor))
    except OSError:
        os.close(descriptor)
        raise


def _look(level: _Level) -> Entry | None:
    name = level.names.pop()
    try:
        found = os.stat(name, dir_fd=level.descriptor, follow_symlinks=False)
    except OSError:  # it has gone meanwhile
        return None
    return Entry(name, level.descriptor, found)


def _move_up(entry: Entry, top: int) -> str:
    """The new name of a folder at the top; empty if it cannot be moved."""
    name = f"moved-{os.urandom(8).hex()}"
    try:
        _open_to_owner(entry)  # a folder changes when its parent does
        os.rename(entry.name, name, src_dir_fd=entry.parent, dst_dir_fd=top)
    except OSError:
        return ""
    return name


def _enter(entry: Entry, levels: list[_Level]) -> Iterator[Entry]:
    """Go down into a folder; gives what is none, and a folder that cannot be read."""
    if not entry.is_folder:
        yield entry
        return
    try:
        _open_to_owner(entry)
        descriptor = os.open(entry.name, os.O_RDONLY | FOLDER, dir_fd=entry.parent)
        levels.append(_open_level(descriptor, entry))
    except OSError:
        yield Entry(entry.name, entry.parent, entry.found, is_readable=False)


def _open_to_owner(entry: Entry) -> None:
    """Let the owner of a folder read and change it: a sandbox may have the same user as this process."""
    # guard: package-cache-has-no-locked-folders
    if entry.found.st_mode & stat.S_IRWXU == stat.S_IRWXU:
        return
    with suppress(PermissionError):  # another user's; root reads it all the same
        opened = os.open(entry.name, os.O_PATH | FOLDER, dir_fd=entry.parent)
        try:
            Path(f"/proc/self/fd/{opened}").chmod(0o777)
        finally:
            os.close(opened)
