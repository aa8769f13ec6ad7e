"""The limits of connections to the web server, and how they follow from the limit of open files."""

import resource
from dataclasses import dataclass

from django.conf import settings

MAX_HEAD_BYTES = 64 * 1024
MIN_BODY_BYTES_PER_SECOND = 8 * 1024
# A client that reads a response so slowly that 64 KiB take longer is disconnected.
SEND_TIMEOUT_SECONDS = 60.0
# How long a closed connection may still take to deliver its last bytes.
CLOSE_TIMEOUT_SECONDS = 5.0
# Connections cost memory too, so a high limit of open files is not used up by default.
MAX_DEFAULT_CONNECTIONS = 4_000
MIN_RESERVED_FILES = 128
MAX_RESERVED_FILES = 1_024


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections may be open, and how long each may make the server wait, in seconds."""

    connections: int
    per_address: int
    head_seconds: float = 20.0
    idle_seconds: float = 30.0
    body_seconds: float = 20.0


def configured_limits(process: int = 0) -> Limits:
    """The limits by the settings, and by the limit of open files where the settings leave it open.

    ``process``: the id of the process that serves; 0 is this one.
    """
    connections = settings.WEB_CONNECTIONS or default_connections(open_files_limit(process))
    return Limits(
        connections=connections,
        per_address=settings.WEB_CONNECTIONS_PER_ADDRESS or max(connections // 4, 16),
        head_seconds=settings.WEB_HEAD_TIMEOUT_SECONDS,
        idle_seconds=settings.WEB_IDLE_TIMEOUT_SECONDS,
        body_seconds=settings.WEB_BODY_TIMEOUT_SECONDS,
    )


def open_files_limit(process: int = 0) -> int:
    """How many files and connections a process of this account may have open; 0 is this process."""
    try:
        soft, _hard = resource.prlimit(process, resource.RLIMIT_NOFILE)
    except (ProcessLookupError, PermissionError):
        soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 20


def default_connections(open_files: int) -> int:
    """How many connections leave enough of the open files for the database, sandboxes and the rest."""
    reserved = min(max(open_files // 4, MIN_RESERVED_FILES), MAX_RESERVED_FILES)
    return min(max(open_files - reserved, 16), MAX_DEFAULT_CONNECTIONS)
