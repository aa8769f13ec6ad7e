"""The HTTP connection pools for model providers: one for each event loop, shared by all adapters."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

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


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, "httpx2.AsyncClient"] = WeakKeyDictionary()


def pool() -> "httpx2.AsyncClient":
    """The pool of the running event loop. It holds no key: each request carries its own."""
    loop = asyncio.get_running_loop()
    if loop not in _pools:
        _pools[loop] = new_pool()
    return _pools[loop]


def new_pool() -> "httpx2.AsyncClient":
    """A new pool, which the caller closes.

    It follows no redirect: that would send the key to a host it was not given for. It has no time
    limits: the code that opens and reads a stream keeps them.
    """
    import httpx2

    return httpx2.AsyncClient(
        timeout=None,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        follow_redirects=False,
    )


async def close_connections() -> None:
    """Close the pool of the running event loop, at the end of a worker or a test."""
    client = _pools.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.aclose()
