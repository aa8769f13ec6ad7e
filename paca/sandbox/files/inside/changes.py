"""What has changed in the workspace: every file outside of repositories is new, since a conversation begins with an
empty workspace; in a repository the files are compared with a commit.
"""

from __future__ import annotations

import os
import stat
import time

from paca.sandbox.files.inside import comparison, listing
from paca.sandbox.files.inside.repositories import Blob, GitProblem, Repository, is_repository
from paca.sandbox.runner import file_io
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.safe_path import SafePath, display_name, to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_CHANGES = 5_000
MAX_REPOSITORIES = 20
MAX_COLLAPSED = 200
WALK_SECONDS = 15.0
COUNT_SECONDS = 2.0  # for counts of lines, which the list can do without
COUNTED_BYTES = 256 * 1024
EXECUTABLE = b"100755"
LINK = b"120000"


class _Side:
    """A repository with the files of the commit that it is compared with; ``seen`` are those that exist now."""

    def __init__(self, repository: Repository, tree: dict[bytes, Blob]) -> None:
        self.repository = repository
        self.tree = tree
        self.seen: set[bytes] = set()


class Changes:
    """Collects the changes of the whole workspace. ``base``: start or branch. ``commits``: those that work began with,
    by the path of the repository."""

    def __init__(self, root: int, *, base: str, commits: dict[str, str], since: float) -> None:
        self._root = root
        self._base = base
        self._commits = commits
        self._since = since
        self._walk = listing.Walk(root, seconds=WALK_SECONDS)
        self._count_until = time.monotonic() + COUNT_SECONDS
        self._sides: dict[bytes, _Side | None] = {}
        self._entries: list[dict[str, Any]] = []
        self._told: list[dict[str, Any]] = []

    def collect(self) -> dict[str, Any]:
        """The changes, the repositories with their bases, and the folders that were left out."""
        for folder, name, path, status in self._walk.files():
            if len(self._entries) >= MAX_CHANGES:
                self._walk.cut = True
                break
            self._look(folder, name, path, status)
        if not self._walk.cut:
            self._add_deleted()
        self._entries.sort(key=lambda each: str(each["path"]))
        collapsed = sorted(display_name(each) for each in self._walk.collapsed)
        return {
            "entries": self._entries[:MAX_CHANGES],
            "repositories": self._told,
            "collapsed": [each for each in collapsed if not _is_git(each)][:MAX_COLLAPSED],
            "cut": self._walk.cut or len(self._entries) > MAX_CHANGES,
        }

    def _look(self, folder: int, name: bytes, path: bytes, status: os.stat_result) -> None:
        side = self._side_of(path)
        if side is None:
            # guard: files-of-the-start-are-no-change
            if status.st_ctime >= self._since:
                self._add(path, "added", status.st_size, self._lines(folder, name, status))
            return
        inner = path[len(side.repository.path) + 1 :] if side.repository.path else path
        blob = side.tree.get(inner)
        if blob is None:
            self._add(path, "added", status.st_size, self._lines(folder, name, status))
            return
        side.seen.add(inner)
        if not self._is_same(folder, name, status, blob):
            counts = self._compare(folder, name, status, side.repository, blob)
            self._add(path, "changed", status.st_size, counts)

    def _add(self, path: bytes, change: str, size: int, counts: tuple[int, int] | None) -> None:
        added, removed = counts or (None, None)
        entry = {"path": display_name(path), "change": change, "size": size}
        self._entries.append({**entry, "added": added, "removed": removed})

    def _side_of(self, path: bytes) -> _Side | None:
        """The innermost repository around a path; None if there is none, or all its files are new."""
        folder = path.rpartition(b"/")[0]
        if folder not in self._sides:
            self._sides[folder] = self._open(folder)
        return self._sides[folder]

    def _open(self, folder: bytes) -> _Side | None:
        if not _has_git(self._root, folder):
            return self._side_of(folder) if folder else None
        repository = Repository(folder)
        told: dict[str, Any] = {"path": display_name(folder) or ".", "branch": "", "problem": ""}
        if len(self._told) >= MAX_REPOSITORIES:
            self._walk.cut = True
            return None
        self._told.append(told)
        try:
            commit, told["against"] = base_of(repository, self._base, self._commits)
            told["branch"] = repository.branch()
            told["base"] = commit.decode() if commit else ""
            return _Side(repository, repository.tree(commit)) if commit else None
        except GitProblem as problem:
            told["problem"] = str(problem)
            return None

    def _is_same(self, folder: int, name: bytes, status: os.stat_result, blob: Blob) -> bool:
        try:
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink(name, dir_fd=folder)
                return blob.mode == LINK and _is_content(target, blob.id)
            executable = bool(status.st_mode & stat.S_IXUSR)
            if not stat.S_ISREG(status.st_mode) or executable is not (blob.mode == EXECUTABLE):
                return False
            if status.st_size != blob.size:
                return False
            fd = listing.open_regular(folder, name)
        except OSError:
            return False
        try:
            return comparison.has_content(fd, blob.size, blob.id)
        finally:
            os.close(fd)

    def _lines(self, folder: int, name: bytes, status: os.stat_result) -> tuple[int, int] | None:
        content = self._small(folder, name, status)
        if content is None or b"\0" in content:
            return None
        return content.count(b"\n") + (content[-1:] not in (b"\n", b"")), 0

    def _compare(
        self, folder: int, name: bytes, status: os.stat_result, repository: Repository, blob: Blob
    ) -> tuple[int, int] | None:
        content = self._small(folder, name, status)
        if content is None or blob.size > COUNTED_BYTES or blob.mode == LINK:
            return None
        try:
            found = comparison.compare(repository.content(blob), content)
        except GitProblem:
            return None
        return None if "added" not in found else (found["added"], found["removed"])

    def _small(self, folder: int, name: bytes, status: os.stat_result) -> bytes | None:
        """The content of a small file, while there is time to count lines."""
        if time.monotonic() > self._count_until or status.st_size > COUNTED_BYTES:
            return None
        try:
            fd = listing.open_regular(folder, name)
        except OSError:
            return None
        try:
            return os.pread(fd, COUNTED_BYTES, 0)
        finally:
            os.close(fd)

    def _add_deleted(self) -> None:
        sides = {side.repository.path: side for side in self._sides.values() if side is not None}
        for path, side in sides.items():
            for inner in side.tree.keys() - side.seen:
                whole = path + b"/" + inner if path else inner
                if not any(part in listing.COLLAPSED for part in inner.split(b"/")[:-1]):
                    self._add(whole, "deleted", 0, None)


def changes(root: int, request: dict[str, Any]) -> dict[str, Any]:
    """The changes of the whole workspace."""
    since = float(request.get("since", 0))
    commits = request.get("commits", {})
    return Changes(root, base=request["base"], commits=commits, since=since).collect()


def base_of(repository: Repository, base: str, commits: dict[str, str]) -> tuple[bytes | None, str]:
    """The commit that a repository is compared with, None for none, and its name. Raises ``GitProblem``."""
    if base == "branch":
        return repository.branch_base()
    return repository.start(commits.get(display_name(repository.path), "")), "start"


def diff(root: int, request: dict[str, Any]) -> dict[str, Any]:
    """The change of one file, as a unified diff. Raises ``RequestError`` and ``OSError``."""
    path, after, size = _now(root, request["path"])
    before, problem = _before(root, request, path)
    if before is None and after is None and not size:
        raise RequestError("no_such_file")
    change = "added" if before is None else "deleted" if after is None and not size else "changed"
    found = {"path": display_name(path), "change": change, "size": size, "problem": problem}
    if size > comparison.MAX_DIFF_BYTES:
        return {**found, "binary": False, "diff": "", "too_large": True}
    return {**found, **comparison.compare(before, after)}


def _now(root: int, asked: str) -> tuple[bytes, bytes | None, int]:
    """The path without detours, the content of the file now, and its size; no content where it does not exist."""
    try:
        with SafePath(root, asked, follow=False) as target:
            path = os.fsencode(target.path)
            try:
                return path, *_after(target)
            except FileNotFoundError:
                return path, None, 0
    except FileNotFoundError:  # its folder is gone too
        parts = [part for part in to_bytes(asked).split(b"/") if part not in (b"", b".")]
        if b".." in parts:
            raise
        return b"/".join(parts), None, 0


def _after(target: SafePath) -> tuple[bytes | None, int]:
    status = file_io.stat_target(target)
    if stat.S_ISLNK(status.st_mode):
        link = os.fsencode(os.readlink(target.name, dir_fd=target.folder_fd))
        return link, len(link)
    fd = file_io.open_regular(target)
    try:
        size = os.fstat(fd).st_size
        return os.pread(fd, comparison.MAX_DIFF_BYTES, 0) if size else b"", size
    finally:
        os.close(fd)


def _before(root: int, request: dict[str, Any], path: bytes) -> tuple[bytes | None, str]:
    """The content of the file in the commit that it is compared with, and why there is none."""
    folder = path.rpartition(b"/")[0]
    while folder and not _has_git(root, folder):
        folder = folder.rpartition(b"/")[0]
    if not _has_git(root, folder):
        return None, ""
    repository = Repository(folder)
    try:
        commit, _ = base_of(repository, request["base"], request.get("commits", {}))
        blob = (
            repository.tree(commit).get(path[len(folder) + 1 if folder else 0 :])
            if commit
            else None
        )
        if blob is not None and blob.size > comparison.MAX_DIFF_BYTES:
            return None, "The earlier file is too large to show."
        return (repository.content(blob) if blob else None), ""
    except GitProblem as problem:
        return None, str(problem)


def _has_git(root: int, folder: bytes) -> bool:
    try:
        fd = os.open(folder or b".", listing.FOLDER_FLAGS, dir_fd=root)
    except OSError:  # it is gone, also where a deleted file was
        return False
    try:
        return is_repository(fd)
    finally:
        os.close(fd)


def _is_content(data: bytes, blob_id: bytes) -> bool:
    fd = os.memfd_create("link", os.MFD_CLOEXEC)
    try:
        os.write(fd, data)
        return comparison.has_content(fd, len(data), blob_id)
    finally:
        os.close(fd)


def _is_git(path: str) -> bool:
    return path.rpartition("/")[2] in (".git", ".hg", ".svn")
