"""The program that copies the files of a workspace into an empty one. It runs as a process of its own.

It imports nothing of Paca: the source of this file is also run in a container. Its only argument is a JSON
object:

- ``source``, ``target``: the folders, as paths or as numbers of open descriptors
- ``uid``: the owner of the copy; null leaves the owner
- ``max_bytes``, ``max_files``: more is not copied
- ``disk``: a folder on the disk of the copy, and ``min_free_bytes``: what must stay free there
- ``parent``: the program ends with the process at the other end of its standard input

Its only output is a JSON object: ``files``, ``bytes``, ``skipped``, ``changed``, and ``error``, the name of the
reason if nothing can be used of the copy.

No link is followed: each folder is opened from the one above it. A tree may be nested deeper than a path may be
long, and may change meanwhile; what has changed is counted.
"""

import errno
import json
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe that took the place of a file meanwhile must not be waited for.
FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW_FILE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
CHUNK_BYTES: Final = 8 << 20
CHECK_BYTES, CHECK_FILES = 64 << 20, 1000
MAX_TICKS: Final = 50  # a step of the clock takes at most ten milliseconds
ENTER, ENTRY, LEAVE, LOST = "enter", "entry", "leave", "lost"
TOO_LARGE, TOO_MANY, DISK_FULL = "too_large", "too_many_files", "disk_full"
NO_SPACE, MOVED, GONE, FAILED = "no_space", "moved", "gone", "failed"
Step = tuple[str, str, os.stat_result, int]


class CopyError(Exception):
    """The copy cannot be used. The text is the name of the reason."""


def walk(top: int) -> Iterator[Step]:
    """Everything below an open folder: what it is, its name, its status, and the folder that has it.

    A folder is entered, and left when all in it was given; it is itself the folder of both steps. Lost is what
    cannot be looked at. Only one folder is open at a time, however deep the tree is: the way back is checked.
    Raises ``CopyError``.
    """
    folder, way, waiting = os.dup(top), [os.fstat(top)], [os.listdir(top)]
    try:
        yield ENTER, "", way[0], folder
        while way:
            while waiting[-1]:
                name = waiting[-1].pop()
                kind, status, inner = _look_at(name, folder, device=way[0].st_dev)
                if kind != ENTER:
                    yield kind, name, status, folder
                    continue
                os.close(folder)
                folder = inner
                way.append(status)
                waiting.append(os.listdir(folder))  # noqa: PTH208 - of a descriptor
                yield ENTER, name, status, folder
            waiting.pop()
            yield LEAVE, "", way.pop(), folder
            if way:
                parent = _go_up(folder, way[-1])
                os.close(folder)
                folder = parent
    finally:
        os.close(folder)


def _look_at(name: str, folder: int, *, device: int) -> tuple[str, os.stat_result, int]:
    """What an entry is, its status, and its descriptor if it is a folder that can be listed."""
    status = os.stat_result((0,) * 10)
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            return ENTRY, status, -1
        inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
    except OSError:  # it was removed or exchanged, or its owner may not read it
        return LOST, status, -1
    status = os.fstat(inner)
    # Another file system is none of an agent's.
    if status.st_dev == device and os.access(".", os.X_OK, dir_fd=inner):
        return ENTER, status, inner
    os.close(inner)
    return LOST, status, -1


def _go_up(folder: int, expected: os.stat_result) -> int:
    parent = os.open("..", FOLDER_FLAGS, dir_fd=folder)
    # guard: copy-checks-its-way-back
    if not os.path.samestat(os.fstat(parent), expected):
        os.close(parent)
        raise CopyError(MOVED)
    return parent


class TreeCopy:
    """One copy, from an open folder into another one, which is empty. ``check``: raises if it must end."""

    def __init__(
        self,
        source: int,
        target: int,
        *,
        uid: int | None,
        max_bytes: int,
        max_files: int,
        check: Callable[[], None],
    ) -> None:
        self.files = self.bytes = self.skipped = self.changed = 0
        self._source, self._target, self._uid = source, target, uid
        self._max_bytes, self._max_files, self._check = max_bytes, max_files, check
        self._checked_at = (0, 0)
        # The first copy of a file with several names is also kept here, where it can be linked from.
        self._links_name = f".links-{os.urandom(8).hex()}"
        self._links = -1
        self._linked: set[int] = set()

    def run(self) -> None:
        """Copy everything, and count what was changed meanwhile. Raises ``CopyError`` and ``OSError``."""
        os.mkdir(self._links_name, 0o700, dir_fd=self._target)
        self._links = os.open(self._links_name, FOLDER_FLAGS, dir_fd=self._target)
        began = self._begin()
        try:
            self._copy_all()
            self._count_changed(began)
        finally:
            for name in os.listdir(self._links):  # noqa: PTH208 - of a descriptor
                os.unlink(name, dir_fd=self._links)
            os.close(self._links)
            os.rmdir(self._links_name, dir_fd=self._target)
        # guard: copy-of-a-removed-folder
        if os.fstat(self._source).st_nlink == 0:
            raise CopyError(GONE)

    def _begin(self) -> int:
        """The time up to which nothing is copied yet, by the clock with which the kernel marks changes.

        The clock goes by steps, so this waits for the next one.
        """
        began = os.fstat(self._links).st_ctime_ns
        for _ in range(MAX_TICKS):
            os.utime(self._links)
            if os.fstat(self._links).st_ctime_ns > began:
                break
            time.sleep(0.001)
        return began

    def _copy_all(self) -> None:
        target, depth = os.dup(self._target), 0
        try:
            for kind, name, status, folder in walk(self._source):
                if kind == ENTER and name:
                    self._count(0)
                    os.mkdir(name, 0o700, dir_fd=target)
                    target, above = os.open(name, FOLDER_FLAGS, dir_fd=target), target
                    os.close(above)
                    depth += 1
                elif kind == LEAVE and depth:
                    above = os.open("..", FOLDER_FLAGS, dir_fd=target)
                    self._finish(target, status)
                    os.close(target)
                    target, depth = above, depth - 1
                elif kind == ENTRY:
                    self._copy_entry(name, status, folder, target)
                elif kind == LOST:
                    self.skipped += 1
        finally:
            os.close(target)

    def _copy_entry(self, name: str, status: os.stat_result, folder: int, target: int) -> None:
        mode = status.st_mode
        try:
            if stat.S_ISREG(mode):
                self._copy_file(name, folder, target)
            elif stat.S_ISLNK(mode):
                os.symlink(os.readlink(name, dir_fd=folder), name, dir_fd=target)
                self._count(0)
                self._finish_entry(name, status, target)
            elif stat.S_ISFIFO(mode):
                os.mkfifo(name, stat.S_IMODE(mode), dir_fd=target)
                self._count(0)
                self._finish_entry(name, status, target)
            else:  # a socket is of no use without its process, and a device is none of an agent's
                self.skipped += 1
        except OSError as error:
            if error.errno not in (
                errno.ENOENT,
                errno.ELOOP,
                errno.EACCES,
                errno.EPERM,
                errno.ENXIO,
            ):
                raise
            self.skipped += 1

    def _copy_file(self, name: str, folder: int, target: int) -> None:
        source = os.open(name, FILE_FLAGS, dir_fd=folder)
        try:
            status = os.fstat(source)
            if not stat.S_ISREG(status.st_mode):  # it was exchanged
                self.skipped += 1
                return
            if status.st_ino in self._linked and self._link(str(status.st_ino), name, target):
                self._count(0)
                return
            copy = os.open(name, NEW_FILE_FLAGS, 0o600, dir_fd=target)
            try:
                self._count(0)
                self._copy_data(source, copy, status.st_size)
                self._finish(copy, status)
            finally:
                os.close(copy)
        finally:
            os.close(source)
        if status.st_nlink > 1 and status.st_ino not in self._linked:
            os.link(
                name,
                str(status.st_ino),
                src_dir_fd=target,
                dst_dir_fd=self._links,
                follow_symlinks=False,
            )
            self._linked.add(status.st_ino)

    def _link(self, first: str, name: str, target: int) -> bool:
        """Give the first copy of a file another name; False if it has as many as a file may have."""
        try:
            os.link(first, name, src_dir_fd=self._links, dst_dir_fd=target, follow_symlinks=False)
        except OSError as error:
            if error.errno != errno.EMLINK:
                raise
            return False
        return True

    def _copy_data(self, source: int, copy: int, size: int) -> None:
        """Copy the parts of a file that hold data, up to the size that it had when it was opened."""
        os.ftruncate(copy, size)
        place = 0
        while place < size:
            try:
                place = os.lseek(source, place, os.SEEK_DATA)
                end = min(os.lseek(source, place, os.SEEK_HOLE), size)
            except OSError:  # only a hole follows, or the file is shorter now
                return
            while place < end:
                copied = _copy_range(source, copy, place, min(end - place, CHUNK_BYTES))
                if not copied:
                    return
                place += copied
                self._count(copied, new=False)

    def _finish(self, copy: int, status: os.stat_result) -> None:
        if self._uid is not None:
            os.fchown(copy, self._uid, self._uid)
        os.fchmod(copy, stat.S_IMODE(status.st_mode))
        os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _finish_entry(self, name: str, status: os.stat_result, target: int) -> None:
        if self._uid is not None:
            os.chown(name, self._uid, self._uid, dir_fd=target, follow_symlinks=False)
        os.utime(
            name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=target, follow_symlinks=False
        )

    def _count(self, copied: int, *, new: bool = True) -> None:
        self.bytes += copied
        self.files += new
        # guard: copy-within-the-limit-of-bytes
        if self.bytes > self._max_bytes:
            raise CopyError(TOO_LARGE)
        # guard: copy-within-the-limit-of-files
        if self.files > self._max_files:
            raise CopyError(TOO_MANY)
        checked_bytes, checked_files = self._checked_at
        if self.bytes - checked_bytes >= CHECK_BYTES or self.files - checked_files >= CHECK_FILES:
            self._checked_at = self.bytes, self.files
            self._check()

    def _count_changed(self, began: int) -> None:
        """Count what was changed since the copy began: it may be in the copy as it was before, after or between."""
        for kind, _, status, _ in walk(self._source):
            if kind in (ENTER, ENTRY) and status.st_ctime_ns > began:
                self.changed += 1


def _copy_range(source: int, copy: int, place: int, size: int) -> int:
    """Copy bytes, within the file system if it can: it may then share them. Gives how many it copied."""
    try:
        return os.copy_file_range(source, copy, size, place, place)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
    data = os.pread(source, min(size, 1 << 20), place)
    return os.pwrite(copy, data, place) if data else 0


def _open_folder(folder: int | str) -> int:
    if isinstance(folder, int):  # it may be one that only names the folder, as that of a new mount
        return os.open(".", FOLDER_FLAGS, dir_fd=folder)
    return os.open(folder, FOLDER_FLAGS)


def _end_with_parent() -> None:
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(1)


def main(given: dict[str, Any]) -> dict[str, Any]:
    """Make the copy that the argument describes, and describe what became of it."""
    if given.get("parent"):
        threading.Thread(target=_end_with_parent, daemon=True).start()
    disk, min_free = _open_folder(given["disk"]), given["min_free_bytes"]

    def check() -> None:
        found = os.statvfs(disk)
        # guard: copy-leaves-space-on-the-disk
        if found.f_bavail * found.f_frsize < min_free:
            raise CopyError(DISK_FULL)

    copy = TreeCopy(
        _open_folder(given["source"]),
        _open_folder(given["target"]),
        uid=given["uid"],
        max_bytes=given["max_bytes"],
        max_files=given["max_files"],
        check=check,
    )
    reason, detail = "", ""
    try:
        check()
        copy.run()
    except CopyError as error:
        reason = str(error)
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason, detail = (NO_SPACE if is_full else FAILED), error.strerror or ""
    counts = {name: getattr(copy, name) for name in ("files", "bytes", "skipped", "changed")}
    return {**counts, "error": reason, "detail": detail}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(json.loads(sys.argv[1]))))
