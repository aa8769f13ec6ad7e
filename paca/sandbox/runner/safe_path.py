"""Resolves a path inside the workspace without ever leaving it.

Each folder on the way is held open by a descriptor and entered from the one before, and every link is
checked before it is followed. So a path cannot be changed between the check and the use.
"""

from __future__ import annotations

import os
import stat

from paca.sandbox.runner.errors import RequestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

MOUNT_POINT = b"/workspace"
MAX_LINKS = 40
FOLDER_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def keep_usable(root: str) -> None:
    """Give the owner of the workspace all rights on its folder, which a command may have taken away.

    Without them no command, tool or measurement could go on, and no later sandbox could start.
    """
    try:
        mode = stat.S_IMODE(os.stat(root).st_mode)  # noqa: PTH116 - pathlib is slow to import
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(root, mode | stat.S_IRWXU)  # noqa: PTH101 - as above
    except OSError:  # the workspace belongs to another user
        return


def to_bytes(path: str) -> bytes:
    """A path from the model as bytes, also with lone surrogates. Raises ``RequestError`` if it contains NUL."""
    if "\0" in path:
        raise RequestError("no_such_file", "A path cannot contain NUL.")
    return path.encode("utf-8", "surrogatepass")


def display_name(name: bytes) -> str:
    """A name as text that can be stored and shown: undecodable bytes become �."""
    return name.decode("utf-8", "replace")


def comparable_name(name: bytes) -> str:
    """The name as it is compared with others: as it is shown, in the composed Unicode form."""
    if name.isascii():
        return name.decode()
    from unicodedata import normalize  # names are seldom anything but ASCII

    return normalize("NFC", display_name(name))


def _parts(path: bytes) -> list[bytes]:
    return [part for part in path.split(b"/") if part not in (b"", b".")]


def _parts_inside(path: bytes) -> list[bytes]:
    """The parts of a path below the workspace, which is relative or begins with /workspace."""
    parts = _parts(path)
    if not path.startswith(b"/"):
        return parts
    if parts[:1] != [MOUNT_POINT[1:]]:
        raise RequestError("outside_workspace")
    return parts[1:]


class SafePath:
    """A resolved path: an open folder and the name of an entry in it, which need not exist.

    ``create_folders``: missing folders on the way are created. ``follow``: a link at the end is followed
    too, as links on the way always are, if it stays inside. Raises ``RequestError`` if the path leaves
    the workspace or leads through a file, ``OSError`` if a folder is missing.
    """

    def __init__(
        self, root: int, path: str, *, create_folders: bool = False, follow: bool = True
    ) -> None:
        self._folder_fds = [os.dup(root)]
        self._names: list[bytes] = []
        self._links = 0
        self.name = b"."
        try:
            self._walk(
                _parts_inside(to_bytes(path))[::-1], create_folders=create_folders, follow=follow
            )
        except BaseException:
            self.close()
            raise

    @property
    def folder_fd(self) -> int:
        """A descriptor of the folder, valid until ``close``."""
        return self._folder_fds[-1]

    @property
    def path(self) -> str:
        """The path relative to the workspace, without links and ``..``."""
        names = [*self._names, *([self.name] if self.name != b"." else [])]
        return display_name(b"/".join(names)) or "."

    def _walk(self, pending: list[bytes], *, create_folders: bool, follow: bool) -> None:
        while pending:
            part = pending.pop()
            if part == b"..":
                self._leave_folder()
                continue
            part = self._actual_name(part)
            found = self._stat(part)
            is_link = found is not None and stat.S_ISLNK(found.st_mode)
            if is_link and (pending or follow):
                pending.extend(self._read_link(part)[::-1])
            elif not pending:
                self.name = part
            else:
                self._enter_folder(part, create_folders=create_folders and found is None)

    def _leave_folder(self) -> None:
        if len(self._folder_fds) == 1:
            raise RequestError("outside_workspace")
        os.close(self._folder_fds.pop())
        self._names.pop()

    def _stat(self, part: bytes) -> os.stat_result | None:
        try:
            return os.stat(part, dir_fd=self.folder_fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _actual_name(self, part: bytes) -> bytes:
        """The name of the entry that looks like ``part``, if only one does.

        A � may stand for undecodable bytes, and a letter with a mark may be stored as one character or as
        two: file systems tell these names apart, readers do not.
        """
        if part.isascii() or self._stat(part) is not None:
            return part
        fd = os.open(b".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.folder_fd)
        try:
            names = os.listdir(fd)  # noqa: PTH208 - of a descriptor
        except OSError:  # the folder may be entered, not read
            return part
        finally:
            os.close(fd)
        wanted = comparable_name(part)
        meant = [name for name in names if comparable_name(os.fsencode(name)) == wanted]
        return os.fsencode(meant[0]) if len(meant) == 1 else part

    def _read_link(self, part: bytes) -> list[bytes]:
        self._links += 1
        if self._links > MAX_LINKS:
            raise RequestError("no_such_file", "Too many links refer to one another.")
        target = os.readlink(part, dir_fd=self.folder_fd)
        inside = _parts_inside(target)
        if target.startswith(b"/"):
            while len(self._folder_fds) > 1:
                self._leave_folder()
        return inside

    def _enter_folder(self, part: bytes, *, create_folders: bool) -> None:
        if create_folders:
            os.mkdir(part, 0o755, dir_fd=self.folder_fd)
        try:
            self._folder_fds.append(os.open(part, FOLDER_FLAGS, dir_fd=self.folder_fd))
        except NotADirectoryError:
            raise RequestError("no_such_file", f"{display_name(part)} is not a folder.") from None
        self._names.append(part)

    def close(self) -> None:
        """Close the descriptors of the folders."""
        while self._folder_fds:
            os.close(self._folder_fds.pop())

    def __enter__(self) -> SafePath:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
