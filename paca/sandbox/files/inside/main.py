"""Reads one request from the standard input, carries it out, and writes frames to the standard output."""

from __future__ import annotations

import json
import os
import sys

from paca.sandbox.files.inside import contents, listing, protocol, uploads
from paca.sandbox.files.inside.changes import Changes, diff
from paca.sandbox.runner import WORKSPACE
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.safe_path import keep_usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _changes(root: int, request: dict[str, Any]) -> dict[str, Any]:
    return Changes(
        root,
        base=request["base"],
        commits=request.get("commits", {}),
        since=float(request.get("since", 0)),
    ).collect()


REQUESTS = {
    "list": listing.list_folder,
    "show": contents.show,
    "changes": _changes,
    "diff": diff,
    "download": contents.send_whole,
    "archive": contents.send_all,
    "upload": uploads.store,
}


def main() -> None:
    """Carry out one request. An error becomes a frame."""
    request = json.loads(sys.stdin.buffer.readline())
    keep_usable(WORKSPACE)
    try:
        root = os.open(WORKSPACE, listing.FOLDER_FLAGS)
        protocol.answer(REQUESTS[request["op"]](root, request))
    except RequestError as error:
        protocol.error(error.code, error.detail)
    except FileNotFoundError:
        protocol.error("no_such_file")
    except BrokenPipeError:  # the worker has gone
        return
    except OSError as error:
        protocol.error("workspace_error", error.strerror or "")
    except MemoryError:
        protocol.error("workspace_error", "The sandbox has too little memory for this.")
