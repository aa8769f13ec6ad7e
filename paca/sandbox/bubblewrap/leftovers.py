"""Removes what processes of Paca left half-made on this machine when they were killed."""

import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from paca.sandbox import runner_bundle
from paca.sandbox.bubblewrap import cgroups
from paca.sandbox.bubblewrap.file_tree import remove_tree

LEFTOVER_SECONDS = 3600.0
PROBE_PREFIX = "paca-probe-"


def remove_leftovers(data_dir: Path) -> int:
    """Remove empty control groups, unfinished folders and the folders of probes; gives their number."""
    folders = [*(data_dir / "run").glob(f"{runner_bundle.UNFINISHED_PREFIX}*")]
    folders += Path(tempfile.gettempdir()).glob(f"{PROBE_PREFIX}*")
    # Copies of workspaces whose worker died, with which their processes end. A whole one belongs to a sandbox's user.
    copies = [*(data_dir / "workspaces").glob(f"{runner_bundle.UNFINISHED_PREFIX}*")]
    removed = cgroups.remove_abandoned()
    for folder in (*folders, *copies):
        with suppress(OSError):
            if is_old(folder) if folder in copies else _is_own_leftover(folder):
                remove_tree(folder)
                removed += 1
    return removed


def is_old(folder: Path) -> bool:
    """Whether nothing was made in this folder for long: its probe has ended. False if it is gone."""
    try:
        return time.time() - folder.lstat().st_mtime > LEFTOVER_SECONDS
    except FileNotFoundError:
        return False


def _is_own_leftover(folder: Path) -> bool:
    """Whether this user made the folder long ago: in /tmp any user may make a folder of this name."""
    status = folder.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return is_own and time.time() - status.st_mtime > LEFTOVER_SECONDS
