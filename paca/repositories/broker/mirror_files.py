"""The files of the mirrors of a machine: what they take, their locks, and what a git that was killed has left."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from paca.repositories.broker import host_git

# What a git that was killed leaves behind.
LEFTOVERS = (
    "objects/pack/tmp_*",
    "objects/pack/.tmp-*",
    "objects/pack/*.keep",
    "objects/tmp_objdir-*",
)


def size_of_all(root: Path) -> int:
    """The bytes that the mirrors below a folder take, with those that are being filled."""
    found = [*root.glob("*.git"), *root.glob("*.new"), *root.glob("*.old")]
    return sum(map(host_git.size_of, found))


def remove_leftovers(path: Path) -> None:
    """Remove what a git that was killed has left in a mirror."""
    for pattern in LEFTOVERS:
        for found in path.glob(pattern):
            with suppress(OSError):
                shutil.rmtree(found) if found.is_dir() else found.unlink()


def try_lock(descriptor: int) -> bool:
    """Take the lock, unless another process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def lock_file(root: Path, key: str) -> Iterator[int]:
    """The descriptor of the file by which a mirror is locked. A git that inherits it holds the lock too."""
    descriptor = os.open(root / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
