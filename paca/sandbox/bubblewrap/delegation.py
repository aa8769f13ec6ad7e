"""Finds the group below which this process may make control groups of version 2, and prepares it."""

import errno
import os
from contextlib import suppress
from pathlib import Path

# Paca's own processes: a group that limits the memory of groups below it may have no process itself.
WORKERS = "workers"
OWN_NAME = "paca"
NEEDED, WANTED = {"memory", "cpu"}, ("memory", "cpu", "pids")
MARKS = ("user.delegate", "trusted.delegate")  # systemd sets them; only root can read the second
MOVE_ATTEMPTS = 10


def find_parent(root: Path) -> Path | None:
    """The group that may get the groups of sandboxes; None if this process may make none.

    It is the group that was delegated to this process, so that the limits on Paca apply to its sandboxes
    too. Root without one uses a group at the root of the tree. ``root``: the mounted file system.
    """
    own = _own_group(root)
    # Paca's processes are in a group below the delegated one, once they were moved, or from their start
    # with ``DelegateSubgroup=`` of systemd.
    for group in (own, own.parent):
        if group.is_relative_to(root) and _is_delegated(group, root):
            return group
    return root / OWN_NAME if os.geteuid() == 0 else None


def prepare(parent: Path, root: Path) -> None:
    """Let the groups below ``parent`` limit memory, processor and processes. Raises ``OSError``."""
    if os.geteuid() == 0 and parent == root / OWN_NAME:
        parent.mkdir(exist_ok=True)
        _enable_controllers(root)
    _enable_controllers(parent)


def _enable_controllers(group: Path) -> None:
    there = set((group / "cgroup.controllers").read_text().split())
    if not there >= NEEDED:
        raise OSError(errno.EOPNOTSUPP, f"{group} has not all of {', '.join(sorted(NEEDED))}")
    control = group / "cgroup.subtree_control"
    missing = (there & {*WANTED}) - set(control.read_text().split())
    if not missing:
        return
    for attempt in range(MOVE_ATTEMPTS):
        try:
            control.write_text(" ".join(f"+{name}" for name in sorted(missing)))
        except OSError as error:
            # A process that was starting another one meanwhile has left it behind.
            if error.errno != errno.EBUSY or attempt == MOVE_ATTEMPTS - 1:
                raise
            _move_processes(group)
        else:
            return


def _move_processes(group: Path) -> None:
    """Move all processes of the group to one below it. They are Paca's: the group was delegated to it."""
    leaf = group / WORKERS
    leaf.mkdir(exist_ok=True)
    for pid in (group / "cgroup.procs").read_text().split():
        with suppress(ProcessLookupError):  # it has ended
            (leaf / "cgroup.procs").write_text(pid)


def _own_group(root: Path) -> Path:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            return root / line[3:].lstrip("/")
    return root


def _is_delegated(group: Path, root: Path) -> bool:
    """Whether this group was given to this process with all groups below, to do with as it likes."""
    files = (group, group / "cgroup.procs", group / "cgroup.subtree_control")
    if not all(os.access(path, os.W_OK) for path in files):
        return False
    if group == root:  # the root of a container; that of the machine has no type
        return (group / "cgroup.type").exists()
    return _is_marked(group) or _is_topmost_own(group)


def _is_marked(group: Path) -> bool:
    for mark in MARKS:
        with suppress(OSError):
            if os.getxattr(group, mark) == b"1":
                return True
    return False


def _is_topmost_own(group: Path) -> bool:
    """Whether the group belongs to this user, and the one above to another: so it was given to the user."""
    user = os.geteuid()
    return user != 0 and group.stat().st_uid == user != group.parent.stat().st_uid
