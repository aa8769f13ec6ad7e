"""Removes trees of files that an agent made, or gives them to a user, without ever following a link."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def give_tree(tree: Path, uid: int) -> None:
    """Give a folder with everything in it to a user. The folder itself comes last, when all else is done.

    Each folder is opened from the one above it, so an exchanged folder leads to nothing outside.
    Raises ``OSError``.
    """
    top = os.open(tree, FOLDER_FLAGS)
    try:
        _give_entries(top, uid)
        os.fchown(top, uid, uid)
    finally:
        os.close(top)


def _give_entries(top: int, uid: int) -> None:
    """Only one folder is open at a time, however deep the tree is: the way back is checked."""
    folder, waiting, way = os.dup(top), [_give_names(top, uid)], [os.fstat(top)]
    try:
        while waiting:
            if waiting[-1]:
                inner = os.open(waiting[-1].pop(), FOLDER_FLAGS, dir_fd=folder)
                folder = _replace(folder, inner)
                waiting.append(_give_names(folder, uid))
                way.append(os.fstat(folder))
                continue
            waiting.pop()
            way.pop()
            if way:
                folder = _replace(folder, os.open("..", FOLDER_FLAGS, dir_fd=folder))
                if not os.path.samestat(os.fstat(folder), way[-1]):
                    raise OSError("a folder was moved while its owner was changed")
    finally:
        os.close(folder)


def _replace(folder: int, other: int) -> int:
    os.close(folder)
    return other


def _give_names(folder: int, uid: int) -> list[str]:
    """Give the entries of a folder to a user, and list the folders among them."""
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        os.chown(entry.name, uid, uid, dir_fd=folder, follow_symlinks=False)
    return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


def remove_tree(tree: Path) -> None:
    """Remove a folder with everything in it. Links are never followed.

    Folders that the agent made unwritable are removed as well, and so are trees that are nested deeper
    than a path or a stack may be long: the folders in a folder are moved to the top before it is removed.
    Another process may remove the same tree meanwhile. Raises ``OSError`` if something cannot be removed.
    """
    with suppress(FileNotFoundError, NotADirectoryError), _open_folder(tree) as top:
        while folders := _remove_files_in(top):
            for name in folders:
                with suppress(FileNotFoundError), _open_folder(name, top) as folder:
                    _move_folders_up(folder, top)
                    os.rmdir(name, dir_fd=top)
        tree.rmdir()


@contextmanager
def _open_folder(folder: Path | str, parent: int | None = None) -> Iterator[int]:
    """A descriptor of a folder whose entries may be changed. A link to a folder is not opened."""
    path_only = os.open(
        folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent
    )
    try:
        same = Path(f"/proc/self/fd/{path_only}")
        same.chmod(0o700)
        descriptor = os.open(same, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(path_only)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _remove_files_in(folder: int) -> list[str]:
    """Remove everything in a folder except its folders, and give the names of those."""
    folders = []
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
        else:
            with suppress(FileNotFoundError):
                os.unlink(entry.name, dir_fd=folder)
    return folders


def _move_folders_up(folder: int, top: int) -> None:
    for name in _remove_files_in(folder):
        # Opening makes the folder writable; one that is not cannot be moved.
        with suppress(FileNotFoundError), _open_folder(name, folder):
            os.rename(name, os.urandom(12).hex(), src_dir_fd=folder, dst_dir_fd=top)
