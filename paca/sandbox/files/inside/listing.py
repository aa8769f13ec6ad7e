"""Lists one folder, however many entries it has, and walks over all files below one."""

from __future__ import annotations

import os
import stat
import time

from paca.sandbox.runner import file_io
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.safe_path import SafePath, display_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_ENTRIES = 10_000
MAX_SCANNED = 200_000
MAX_DEPTH = 64
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
# Folders that programs fill. Nobody reads them as changes, and some have a hundred thousand files.
COLLAPSED = frozenset(
    {
        *(b"node_modules", b".git", b".hg", b".svn", b".venv", b"venv", b"__pycache__", b".tox"),
        *(b".mypy_cache", b".pytest_cache", b".ruff_cache", b".cache", b".gradle", b".terraform"),
        *(b"bower_components", b".next", b".nuxt", b".parcel-cache", b".paca"),
    }
)
OWN_FOLDER = b".paca"  # of Paca, in the workspace itself
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def list_folder(root: int, request: dict[str, Any]) -> dict[str, Any]:
    """The entries of one folder, folders first, from ``offset`` on and at most ``limit``.

    Each is [name, kind, size, time of its last change]. ``modified`` tells whether two such pages show the same folder:
    it changes with each name that comes or goes. Raises ``RequestError`` if the path is no folder, ``OSError``.
    """
    offset = max(0, int(request.get("offset", 0)))
    limit = max(1, min(int(request.get("limit", MAX_ENTRIES)), MAX_ENTRIES))
    with SafePath(root, request["path"]) as target:
        if not stat.S_ISDIR(file_io.stat_target(target).st_mode):
            raise RequestError("not_a_file", "This is not a folder.")
        path = target.path
        fd = os.open(target.name, FOLDER_FLAGS, dir_fd=target.folder_fd)
    try:
        modified = os.fstat(fd).st_mtime
        folders, files, cut = _names(fd, is_root=path == ".")
        names = (folders + files)[offset : offset + limit]
        count = len(folders) - offset  # of the folders among them
        shown = [_describe(fd, name, is_folder=at < count) for at, name in enumerate(names)]
    finally:
        os.close(fd)
    return {
        "path": path,
        "entries": shown,
        "total": len(folders) + len(files),
        "cut": cut,
        "modified": round(modified, 6),
    }


def _names(fd: int, *, is_root: bool) -> tuple[list[str], list[str], bool]:
    """The names of the folders and of all else, each in the order of a list; and whether there are more.

    The kernel tells the kinds with the names: only the entries that are sent are looked at one by one.
    """
    folders: list[str] = []
    files: list[str] = []
    cut = False
    with os.scandir(fd) as entries:
        for number, entry in enumerate(entries):
            if number >= MAX_SCANNED:
                cut = True
                break
            (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
    for names in (folders, files):
        if is_root and OWN_FOLDER.decode() in names:
            names.remove(OWN_FOLDER.decode())
        names.sort()  # for those that differ in capital letters only
        names.sort(key=str.casefold if all(map(str.isascii, names)) else _without_case)
    return folders, files, cut


def _without_case(name: str) -> str:
    return _shown(name).casefold()


def _shown(name: str) -> str:
    return name if name.isascii() else display_name(os.fsencode(name))


def _describe(fd: int, name: str, *, is_folder: bool) -> list[Any]:
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:  # it was removed meanwhile; those after it keep their places
        return [_shown(name), "folder" if is_folder else "other", 0, 0.0]
    kind = KINDS.get(stat.S_IFMT(status.st_mode), "other")
    return [_shown(name), kind, status.st_size, round(status.st_mtime, 3)]


class Walk:
    """Walks over the files below a folder without following a link.

    ``collapsed`` are the folders of ``COLLAPSED`` that were left out; ``cut``: there was too much, or no time.
    """

    def __init__(self, root: int, *, seconds: float) -> None:
        self._root = root
        self._ends_at = time.monotonic() + seconds
        self._left = MAX_SCANNED
        self.collapsed: list[bytes] = []
        self.cut = False

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        if not self.cut and time.monotonic() > self._ends_at:
            self.cut = True
        return self.cut

    def files(
        self, path: bytes = b"", depth: int = 0
    ) -> Iterator[tuple[int, bytes, bytes, os.stat_result]]:
        """Each entry below ``path`` that is no folder: the descriptor of its folder, its name, its path, its status."""
        try:
            fd = self._root if not path else self._open(path)
        except OSError:  # it was removed meanwhile, or may not be read
            return
        try:
            yield from self._files(fd, path, depth)
        finally:
            if fd != self._root:
                os.close(fd)

    def _open(self, path: bytes) -> int:
        fd = self._root
        for part in path.split(b"/"):
            try:
                inner = os.open(part, FOLDER_FLAGS, dir_fd=fd)
            finally:
                if fd != self._root:
                    os.close(fd)
            fd = inner
        return fd

    def _files(
        self, fd: int, path: bytes, depth: int
    ) -> Iterator[tuple[int, bytes, bytes, os.stat_result]]:
        for name in sorted(os.fsencode(each) for each in os.listdir(fd)):
            self._left -= 1
            if self._left < 0 or self.over:
                self.cut = True
                return
            inner = path + b"/" + name if path else name
            try:
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except OSError:
                continue
            if not stat.S_ISDIR(status.st_mode):
                yield fd, name, inner, status
            elif name in COLLAPSED:
                if inner != OWN_FOLDER:
                    self.collapsed.append(inner)
            elif depth < MAX_DEPTH:
                yield from self.files(inner, depth + 1)
            else:
                self.cut = True


def open_regular(folder: int, name: bytes) -> int:
    """Open a file for reading without waiting. Raises ``OSError``, also if it is no regular file any more."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    fd = os.open(name, flags, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("no regular file")
    return fd
