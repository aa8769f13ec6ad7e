"""Measures how much is stored in the workspace: asks its own file system, or counts what was written."""

from __future__ import annotations

import os
import stat
from collections import deque

from paca.sandbox.runner import open_files, processes
from paca.sandbox.runner.safe_path import keep_usable
from paca.sandbox.runner.signals import SIGKILL
from paca.sandbox.runner.unseen_space import UnseenSpace
from paca.sandbox.runner.written_bytes import WriteCounters, counts_writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FULL_BYTES = 1 << 20
MAX_OPEN_FOLDERS = 64
MAX_WAITING_FOLDERS = 256
OWNER_MAY_LIST = 0o500
FOLDER_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Usage:
    """What is stored: ``size`` in bytes, and the number of ``files``, folders included.

    ``proved``: the part of ``size`` that the sandbox has stored for certain.
    """

    def __init__(self, size: int, files: int, proved: int | None = None) -> None:
        self.size = size
        self.files = files
        self.proved = size if proved is None else proved


class QuotaUsage:
    """The usage of a workspace with a file system of its own, which the kernel limits. Takes no time."""

    enforced = True

    def __init__(self, root: str, limits: dict[str, int]) -> None:
        self._root = root
        self.holders: dict[int, int] = {}

    def is_full(self) -> bool:
        """Whether nothing more can be stored."""
        found = os.statvfs(self._root)
        return found.f_bavail * found.f_frsize < FULL_BYTES or found.f_ffree == 0

    def is_urgent(self) -> bool:
        """Whether the next measurement should not wait."""
        return False

    def measure(self) -> Iterator[Usage | None]:
        """Gives the usage. See ``CountedUsage.measure``."""
        found = os.statvfs(self._root)
        size = (found.f_blocks - found.f_bfree) * found.f_frsize
        yield Usage(size, found.f_files - found.f_ffree)


class CountedUsage:
    """The usage of a workspace on a file system that others use too.

    Files are counted as they are: in folders that their owner may not read, however deep, and without a
    name as long as a process holds them open. Where a process holds a file that cannot be looked at, see
    ``UnseenSpace``.
    """

    enforced = False

    def __init__(self, root: str, limits: dict[str, int]) -> None:
        self._root = root
        self.holders: dict[int, int] = {}  # by process, the bytes of open files without a name
        self._limit = Usage(limits["workspace_mib"] << 20, limits["workspace_files"])
        self._device = os.stat(root).st_dev  # noqa: PTH116 - pathlib is slow to import
        self._last = Usage(0, 0)
        self._free_at_last = self._free()
        keep_usable(root)
        self._unseen = UnseenSpace(counts_writes=counts_writes(root))
        self._hidden_before: set[int] = set()
        self._linked: set[int] = set()
        self._immeasurable = False

    def is_full(self) -> bool:
        """Whether the limit was passed at the last measurement."""
        return self._last.proved >= self._limit.size or self._last.files >= self._limit.files

    def is_urgent(self) -> bool:
        """Whether as much may have been written since the last measurement as there was room for.

        Others may have written it, so this only calls for a new measurement.
        """
        free = self._free()
        room = max(self._limit.size - self._last.size, FULL_BYTES)
        files = max(self._limit.files - self._last.files, 256)
        return (
            self._free_at_last.size - free.size > room
            or self._free_at_last.files - free.files > files
        )

    def _free(self) -> Usage:
        found = os.statvfs(self._root)
        return Usage(found.f_bfree * found.f_frsize, found.f_ffree)

    def measure(self) -> Iterator[Usage | None]:
        """Count everything. Gives None after each step, so that the caller can pause, then the usage."""
        self._linked.clear()
        self._immeasurable = False
        before, free = WriteCounters(), self._free()
        files = others = count = 0
        for found in self._walk():
            if stat.S_ISREG(found.st_mode):
                files += found.st_blocks * 512
            else:
                others += found.st_blocks * 512
            count += 1
            yield None
        held = open_files.collect(processes.command_pids(), self._device)
        for inode, size in held.nameless.items():
            if inode not in self._linked:
                files += size
                count += 1
        others += sum(held.folders.values())
        self.holders = held.holders
        self._end_hidden(held.hidden)
        self._unseen.update(
            files=files,
            others=others,
            free=free.size,
            before=before,
            everything_seen=not (held.out_of_sight or held.hidden or self._immeasurable),
        )
        self._last = Usage(
            self._unseen.possible + others, count, proved=self._unseen.proved + others
        )
        self._free_at_last = free
        yield self._last

    def _end_hidden(self, hidden: set[int]) -> None:
        """End processes that keep their open files from being looked at, unless it is their first time."""
        processes.send_signal(hidden & self._hidden_before, SIGKILL)
        self._hidden_before = hidden

    # --- walking ----------------------------------------------------------------------------------

    def _walk(self) -> Iterator[os.stat_result]:
        """The status of each entry below the workspace.

        Each folder is opened from the one above it: so no path becomes too long. At some depth a folder
        is put aside and walked later, so that few are open at a time.
        """
        waiting: deque[_Level] = deque()
        keep_usable(self._root)
        self._put_aside(waiting, _open_level(None, self._root, OWNER_MAY_LIST))
        try:
            while waiting:
                yield from self._walk_below(waiting.popleft(), waiting)
        finally:
            for level in waiting:
                level.close()

    def _walk_below(self, top: _Level, waiting: deque[_Level]) -> Iterator[os.stat_result]:
        levels = [top]
        try:
            while levels:
                found = levels[-1].next_entry()
                if found is None:
                    levels.pop().close()
                    continue
                name, status = found
                if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
                    if status.st_ino in self._linked:
                        continue
                    self._linked.add(status.st_ino)
                yield status
                if stat.S_ISDIR(status.st_mode):
                    self._enter(levels, waiting, name, status.st_mode)
        finally:
            for level in levels:
                level.close()

    def _enter(self, levels: list[_Level], waiting: deque[_Level], name: str, mode: int) -> None:
        level = _open_level(levels[-1].folder, name, mode)
        if level is None:
            return
        if len(levels) < MAX_OPEN_FOLDERS:
            levels.append(level)
        else:
            self._put_aside(waiting, level)

    def _put_aside(self, waiting: deque[_Level], level: _Level | None) -> None:
        """Walk a folder later. It stays open until then, with the mode that makes it listable."""
        if level is not None and len(waiting) < MAX_WAITING_FOLDERS:
            waiting.append(level)
            return
        self._immeasurable = True
        if level is not None:
            level.close()


class _Level:
    """An open folder with those of its names that are not looked at yet."""

    def __init__(self, folder: int, mode: int | None) -> None:
        self.folder = folder
        self._mode = mode  # to be restored
        self._names: list[str] | None = None

    def next_entry(self) -> tuple[str, os.stat_result] | None:
        """The next entry with its status; None at the end."""
        try:
            if self._names is None:
                self._names = os.listdir(self.folder)  # noqa: PTH208 - of a descriptor
            while self._names:
                name = self._names.pop()
                try:
                    return name, os.stat(name, dir_fd=self.folder, follow_symlinks=False)
                except FileNotFoundError:
                    continue
        except OSError:  # its owner has changed its mode meanwhile: the next measurement sees it
            return None
        return None

    def close(self) -> None:
        """Close the folder, with the mode that it had."""
        if self._mode is not None:
            _change_mode(self.folder, self._mode)
        os.close(self.folder)


def _open_level(parent: int | None, name: str, mode: int) -> _Level | None:
    """Open a folder. One that its owner may not list is made listable until it is closed."""
    try:
        if mode & OWNER_MAY_LIST == OWNER_MAY_LIST:
            return _Level(os.open(name, os.O_RDONLY | FOLDER_FLAGS, dir_fd=parent), None)
        path_only = os.open(name, os.O_PATH | FOLDER_FLAGS, dir_fd=parent)
    except OSError:  # it was removed or exchanged meanwhile
        return None
    try:
        _change_mode(path_only, mode | OWNER_MAY_LIST)
        folder = os.open(f"/proc/self/fd/{path_only}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return _Level(folder, mode)
    except OSError:
        return None
    finally:
        os.close(path_only)


def _change_mode(folder: int, mode: int) -> None:
    try:
        os.chmod(f"/proc/self/fd/{folder}", stat.S_IMODE(mode))  # noqa: PTH101 - as above
    except OSError:
        return
