"""The configuration of git on the host: a file in memory, which is all that git reads besides that of a mirror."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from paca.repositories.broker.routes import Route

# What holds for every command. A mirror has a configuration of its own, which only Paca writes.
CONFIG = """[core]
\thooksPath = /dev/null
\tfsmonitor = false
\tbigFileThreshold = 16m
\tpackedGitLimit = 256m
\tdeltaBaseCacheLimit = 64m
[pack]
\tthreads = 1
\twindowMemory = 64m
[gc]
\tauto = 0
[maintenance]
\tauto = false
[fetch]
\tunpackLimit = 1
\trecurseSubmodules = false
\twriteCommitGraph = false
[protocol]
\tversion = 2
[safe]
\tdirectory = *
[credential]
\thelper =
[uploadpack]
\tallowFilter = true
\tallowAnySHA1InWant = true
[http]
\tfollowRedirects = false
\tproxy =
\tsslVerify = true
"""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def config_for(route: Route | None, addresses: Sequence[str] = ()) -> str:
    """The configuration, with what the server of the route needs. ``addresses``: those that were checked."""
    if route is None:
        return CONFIG
    host, port = route.server
    pinned = ",".join(map(_bracketed, addresses))
    lines = [f"\tcurloptResolve = {_quoted(f'{host}:{port}:{pinned}')}"]
    if route.ca_file:
        lines.append(f"\tsslCAInfo = {_quoted(route.ca_file)}")
    if route.header:
        lines.append(f"\textraHeader = {_quoted(f'Authorization: {route.header}')}")
    return CONFIG + "\n".join(lines) + "\n"


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


@contextmanager
def config_file(text: str) -> Iterator[int]:
    """The descriptor of a file in memory with the configuration, which a process that inherits it can open."""
    descriptor = os.memfd_create("git", 0)
    try:
        os.write(descriptor, text.encode())
        yield descriptor
    finally:
        os.close(descriptor)
