"""Finds a path inside the workspace without ever leaving it, link by link and race-free.

Each folder on the way is held open by a descriptor and entered from the one before, never
following a link blindly, so that a path cannot be changed between the check and the use.
"""

from __future__ import annotations

import os
import stat

from paca.sandbox.runner.errors import RequestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

MOUNT = b"/workspace"
MOST_LINKS = 40
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def to_bytes(path: str) -> bytes:
    """A path as the model wrote it; lone surrogates are no reason to fail."""
    if "\0" in path:
        raise RequestError("no_such_file", "A path cannot contain NUL.")
    return path.encode("utf-8", "surrogatepass")


def shown(name: bytes) -> str:
    """A name that every program may store and show; bytes that are no text become �."""
    return name.decode("utf-8", "replace")


def _parts(path: bytes) -> list[bytes]:
    return [part for part in path.split(b"/") if part not in (b"", b".")]


def _inside(path: bytes) -> list[bytes]:
    """The parts of a path below the workspace, relative or starting with /workspace."""
    parts = _parts(path)
    if not path.startswith(b"/"):
        return parts
    if parts[:1] != [MOUNT[1:]]:
        raise RequestError("outside_workspace")
    return parts[1:]


class Place:
    """A folder held open and a name in it. The name may not exist; it is never a link to follow.

    ``make``: create the missing folders on the way. ``follow``: a link at the end is followed,
    as those on the way always_replace are, if it stays inside.
    """

    def __init__(self, root: int, path: str, *, make: bool = False, follow: bool = True) -> None:
        self._stack = [os.dup(root)]
        self._names: list[bytes] = []
        self._links = 0
        self.name = b"."
        try:
            self._walk(_inside(to_bytes(path))[::-1], make=make, follow=follow)
        except BaseException:
            self.close()
            raise

    @property
    def folder(self) -> int:
        return self._stack[-1]

    @property
    def path(self) -> str:
        """Its plain spelling, relative to the workspace."""
        names = [*self._names, *([self.name] if self.name != b"." else [])]
        return shown(b"/".join(names)) or "."

    def _walk(self, pending: list[bytes], *, make: bool, follow: bool) -> None:
        while pending:
            part = pending.pop()
            if part == b"..":
                self._up()
                continue
            part = self._spelled(part)
            found = self._look(part)
            is_link = found is not None and stat.S_ISLNK(found.st_mode)
            if is_link and (pending or follow):
                pending.extend(self._target(part)[::-1])
            elif not pending:
                self.name = part
            else:
                self._enter(part, make=make and found is None)

    def _up(self) -> None:
        if len(self._stack) == 1:
            raise RequestError("outside_workspace")
        os.close(self._stack.pop())
        self._names.pop()

    def _look(self, part: bytes) -> os.stat_result | None:
        try:
            return os.stat(part, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _spelled(self, part: bytes) -> bytes:
        """A name with � may stand for one with undecodable bytes: it was shown that way."""
        if "�".encode() not in part or self._look(part) is not None:
            return part
        fd = os.open(b".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.folder)
        try:
            names = os.listdir(fd)  # noqa: PTH208 - of a descriptor
            meant = [name for name in names if shown(os.fsencode(name)) == shown(part)]
        finally:
            os.close(fd)
        return os.fsencode(meant[0]) if len(meant) == 1 else part

    def _target(self, part: bytes) -> list[bytes]:
        self._links += 1
        if self._links > MOST_LINKS:
            raise RequestError("no_such_file", "Too many links lead to one another.")
        target = os.readlink(part, dir_fd=self.folder)
        inside = _inside(target)
        if target.startswith(b"/"):
            while len(self._stack) > 1:
                self._up()
        return inside

    def _enter(self, part: bytes, *, make: bool) -> None:
        if make:
            os.mkdir(part, 0o755, dir_fd=self.folder)
        try:
            self._stack.append(os.open(part, FOLDER, dir_fd=self.folder))
        except NotADirectoryError:
            raise RequestError("no_such_file", f"{shown(part)} is not a folder.") from None
        self._names.append(part)

    def close(self) -> None:
        """Let go of the folders."""
        while self._stack:
            os.close(self._stack.pop())

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
