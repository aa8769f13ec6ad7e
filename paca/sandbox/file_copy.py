"""Copies of the files of one sandbox for another: what is copied, what became of it, and why it failed."""

from __future__ import annotations

import json
from typing import Any

from paca.common.disk_space import MIN_FREE_MIB
from paca.common.errors import PacaError
from paca.sandbox import tree_copy
from paca.sandbox.base import CopiedFiles, SandboxSpec

# A conversation waits so long for its files; a workspace of 2 GiB takes a fraction of it.
COPY_SECONDS = 600.0
TOO_SLOW = "too_slow"
MISSING = (
    "the files of the other conversation are not on this machine: they were deleted, or another worker's"
    " machine stores them"
)
AGAIN = "fork the other conversation again to try once more"
_REASONS = {
    tree_copy.TOO_LARGE: "the files are larger than the workspace of a sandbox may be",
    tree_copy.TOO_MANY: "there are more files than the workspace of a sandbox may have",
    tree_copy.NO_SPACE: "the files need more space than the workspace of a sandbox has",
    tree_copy.DISK_FULL: f"this server's disk is nearly full; free space there, then {AGAIN}",
    tree_copy.MOVED: f"a folder was moved while it was copied; {AGAIN} when nothing runs there",
    tree_copy.GONE: "the files of the other conversation were deleted while they were copied",
    TOO_SLOW: f"the copy took longer than {COPY_SECONDS:.0f} seconds; {AGAIN} when the server has less to do",
}


class CopyFailed(PacaError):
    """The files of the other conversation could not be copied, and nothing of the copy is kept.

    ``detail`` is the reason in words, with the next step if there is one.
    """

    code = "files_not_copied"


def request(
    spec: SandboxSpec,
    *,
    source: int | str,
    target: int | str,
    disk: int | str,
    uid: int | None,
    parent: bool,
) -> str:
    """The argument of the program ``tree_copy``, for the files of the sandbox of ``spec``."""
    return json.dumps(
        {
            "source": source,
            "target": target,
            "disk": disk,
            "uid": uid,
            "max_bytes": spec.limits.workspace_mib << 20,
            "max_files": spec.limits.workspace_files,
            "min_free_bytes": MIN_FREE_MIB << 20,
            "parent": parent,
        }
    )


def parse(output: bytes) -> CopiedFiles:
    """What the program says that it has copied. Raises ``CopyFailed``."""
    try:
        told: dict[str, Any] = dict(json.loads(output))
        copied = CopiedFiles(
            *(int(told[name]) for name in ("files", "bytes", "skipped", "changed"))
        )
        reason, detail = str(told["error"]), str(told["detail"])
    except (ValueError, LookupError, TypeError):
        raise failed("it ended early") from None
    # guard: failed-copy-is-not-used
    if reason:
        raise CopyFailed(_REASONS[reason]) if reason in _REASONS else failed(detail or reason)
    return copied


def failed(reason: str) -> CopyFailed:
    """The error of a copy that failed for a reason that is not foreseen."""
    return CopyFailed(f"the copy failed ({reason}); {AGAIN}")


def too_slow() -> CopyFailed:
    """The error of a copy that took too long."""
    return CopyFailed(_REASONS[TOO_SLOW])
