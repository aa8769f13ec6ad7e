"""The files of skills in a container: on a volume of its own that belongs to root, so nothing inside changes them."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from paca.engine.context.skills import SKILLS_FOLDER
from paca.sandbox.base import SandboxFile

FOLDER_MODE, FILE_MODE = 0o755, 0o555


def volume_mount(labels: dict[str, str]) -> dict[str, Any]:
    """The mount of a volume without a name, which Docker makes and removes with the container.

    It is not mounted read-only, because Docker then refuses to write the files before the start. Its folder
    and files belong to root, and no process of a sandbox is root or has a capability.
    """
    return {
        "Type": "volume",
        "Target": SKILLS_FOLDER,
        "VolumeOptions": {"NoCopy": True, "Labels": labels},
    }


def archive(files: Iterable[SandboxFile]) -> bytes:
    """The files as a tar, in which everything belongs to root."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        folders: set[str] = set()
        for file in files:
            for parent in reversed(PurePosixPath(file.path).parents[:-1]):
                if str(parent) not in folders:
                    folders.add(str(parent))
                    tar.addfile(_entry(str(parent), tarfile.DIRTYPE, FOLDER_MODE))
            entry = _entry(file.path, tarfile.REGTYPE, FILE_MODE)
            entry.size = len(file.data)
            tar.addfile(entry, io.BytesIO(file.data))
    return buffer.getvalue()


def _entry(path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.type, entry.mode = kind, mode
    return entry
