"""The HTTP connections to model providers: one pool an event loop, owned by us and not by an SDK."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import httpx
    import httpx2


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """How long one attempt may take, in seconds, and each of its silences."""

    connect: float = 10.0
    first_token: float = 60.0
    gap: float = 60.0
    total: float = 900.0


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, "httpx2.AsyncClient"] = WeakKeyDictionary()
# The same for what still stands on the older library: some of litellm's routes.
_plain_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, "httpx.AsyncClient"] = (
    WeakKeyDictionary()
)


def pool() -> "httpx2.AsyncClient":
    """The pool of the running loop. It holds no key: keys travel with each request."""
    loop = asyncio.get_running_loop()
    if loop not in _pools:
        _pools[loop] = new_pool()
    return _pools[loop]


def new_pool() -> "httpx2.AsyncClient":
    """A pool of one's own, for who closes it.

    A redirect is never followed: it would carry the key to a host it was not given for.
    It has no time limits: those are set, and watched, where a stream is opened and read.
    """
    import httpx2

    return httpx2.AsyncClient(
        timeout=None,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        follow_redirects=False,
    )


def plain_pool() -> "httpx.AsyncClient":
    """The running loop's other pool, under the same rules."""
    import httpx

    loop = asyncio.get_running_loop()
    if loop not in _plain_pools:
        _plain_pools[loop] = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=TimeLimits().connect),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            follow_redirects=False,
        )
    return _plain_pools[loop]


async def close_connections() -> None:
    """Close the running loop's pools; to be called when a worker or a test ends."""
    loop = asyncio.get_running_loop()
    for client in (_pools.pop(loop, None), _plain_pools.pop(loop, None)):
        if client is not None:
            await client.aclose()
