"""The HTTP connection pools for model providers: one for each event loop, shared by all adapters."""

import asyncio
import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from paca.engine.llm.address_check import AllowedServers

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The time limits of one attempt in seconds. ``gap`` limits the wait between two pieces.

    ``loading`` is how long a server that still loads its model is asked again. ``own_server``: it works on one
    request for long, and an answer that did not come in time is not asked for again.
    """

    connect: float = 10.0
    first_token: float = 180.0
    gap: float = 120.0
    total: float = 1800.0
    loading: float = 60.0
    own_server: bool = False


@dataclass(slots=True)
class _Allowed:
    """None until the process is told by its settings: an unknown decision is a refusal."""

    servers: AllowedServers = field(default_factory=AllowedServers)


_allowed = _Allowed()
_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, "httpx2.AsyncClient"] = WeakKeyDictionary()


def pool() -> "httpx2.AsyncClient":
    """The pool of the running event loop. It holds no key: each request carries its own."""
    loop = asyncio.get_running_loop()
    if loop not in _pools:
        _pools[loop] = new_pool()
    return _pools[loop]


async def load_library() -> None:
    """Import the HTTP library in a thread: it takes half a second, and other runs go on meanwhile."""
    await asyncio.to_thread(importlib.import_module, "paca.engine.llm.transport")


def new_pool() -> "httpx2.AsyncClient":
    """A new pool, which the caller closes.

    It follows no redirect: that would send the key to a host it was not given for. It has no time
    limits: the code that opens and reads a stream keeps them.
    """
    import httpx2

    from paca.engine.llm.transport import ModelTransport

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    return httpx2.AsyncClient(
        transport=ModelTransport(_allowed.servers, limits),
        timeout=None,
        follow_redirects=False,
        trust_env=False,
    )


def allow_private_servers(servers: AllowedServers) -> None:
    """Let the pools that are made from now on connect to these private servers."""
    _allowed.servers = servers


def allowed_servers() -> AllowedServers:
    """The private servers that model calls of this process may connect to."""
    return _allowed.servers


async def close_connections() -> None:
    """Close the pool of the running event loop, at the end of a worker or a test."""
    client = _pools.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.aclose()
