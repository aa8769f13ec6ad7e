"""Reads one request from the standard input, carries it out, and writes frames to the standard output."""

from __future__ import annotations

import os
import sys

from paca.sandbox.files.inside import protocol
from paca.sandbox.runner import WORKSPACE
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.frames import loads
from paca.sandbox.runner.safe_path import keep_usable

# The module beside this one and its function that carries out a request. Only the modules that it needs are here.
REQUESTS = {
    "list": ("listing", "list_folder"),
    "show": ("contents", "show"),
    "changes": ("changes", "changes"),
    "diff": ("changes", "diff"),
    "download": ("contents", "send_whole"),
    "archive": ("contents", "send_all"),
    "upload": ("uploads", "store"),
}
PACKED = ("list", "show", "changes", "diff")


def main() -> None:
    """Carry out one request. An error becomes a frame."""
    request = loads(sys.stdin.buffer.readline().decode().strip())
    keep_usable(WORKSPACE)
    op: str = request["op"]
    module, function = REQUESTS[op]
    try:
        root = os.open(WORKSPACE, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        found = getattr(sys.modules[f"paca.sandbox.files.inside.{module}"], function)(root, request)
        (protocol.packed_answer if op in PACKED else protocol.answer)(found)
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
