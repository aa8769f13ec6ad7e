"""Finds what the processes of the sandbox hold open although it has no name any more."""

from __future__ import annotations

import os
import stat

from paca.sandbox.runner import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_MAPS_BYTES = 4 << 20
DELETED = b" (deleted)"


class HeldFiles:
    """What processes hold open.

    ``nameless``: files of the wanted device without a name, by inode, with their bytes. ``folders``: the
    same for folders. ``elsewhere``: files on all other devices, by device and inode. ``holders``: by process, the bytes of all these
    files. ``out_of_sight``: a file is only mapped or on its
    way through a socket, so that it cannot be looked at. ``hidden``: processes that may not be looked at.
    """

    def __init__(self) -> None:
        self.nameless: dict[int, int] = {}
        self.folders: dict[int, int] = {}
        self.elsewhere: dict[tuple[int, int], int] = {}
        self.holders: dict[int, int] = {}
        self.hidden: set[int] = set()
        self.out_of_sight = False


def collect(pids: Iterable[int], device: int | None = None) -> HeldFiles:
    """What these processes hold open. ``device``: that of the workspace, if its files are wanted."""
    held = HeldFiles()
    mapped: set[int] = set()
    for pid in pids:
        try:
            descriptors = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - pathlib is slow to import
        except PermissionError:
            # The kernel shows the files of an ending process to root only; it closes them now.
            if proc.has_memory(pid):
                held.hidden.add(pid)
            continue
        except OSError:  # it has ended
            continue
        for descriptor in descriptors:
            _look_at(held, pid, f"fd/{descriptor}", device)
        _look_at(held, pid, "cwd", device)
        if device is not None:
            mapped |= _mapped_nameless(pid, device)
    held.out_of_sight = held.out_of_sight or bool(mapped - set(held.nameless))
    return held


def _look_at(held: HeldFiles, pid: int, link: str, device: int | None) -> None:
    try:
        found = os.stat(f"/proc/{pid}/{link}")  # noqa: PTH116 - pathlib is slow to import
    except OSError:
        return
    if stat.S_ISSOCK(found.st_mode):
        held.out_of_sight = held.out_of_sight or _carries_files(pid, link.removeprefix("fd/"))
    elif stat.S_ISDIR(found.st_mode):
        # A folder keeps the space of its entries after they and it were removed.
        if found.st_nlink == 0 and found.st_dev == device:
            held.folders[found.st_ino] = found.st_blocks * 512
    elif stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
        size = found.st_blocks * 512
        if found.st_dev == device:
            held.nameless[found.st_ino] = size
        else:
            held.elsewhere[found.st_dev, found.st_ino] = size
        held.holders[pid] = held.holders.get(pid, 0) + size


def _carries_files(pid: int, descriptor: str) -> bool:
    """Whether descriptors were sent into a socket and not received yet."""
    for line in proc.read_file(f"/proc/{pid}/fdinfo/{descriptor}", 4096).splitlines():
        if line.startswith(b"scm_fds:"):
            return line.split()[1] != b"0"
    return False


def _mapped_nameless(pid: int, device: int) -> set[int]:
    """The inodes of mapped files of the device that have no name."""
    maps = proc.read_whole(f"/proc/{pid}/maps", MAX_MAPS_BYTES)
    if DELETED not in maps:
        return set()
    wanted = b"%02x:%02x" % (os.major(device), os.minor(device))
    found = set()
    for line in maps.splitlines():
        if line.endswith(DELETED):
            fields = line.split(None, 5)
            if fields[3] == wanted:
                found.add(int(fields[4]))
    return found
