"""Asks Redis once whether it answers, on a connection that ends with the question."""

from contextlib import closing

from redis import RedisError

from paca.bus.redis.connection import connect


def fault(url: str) -> str:
    """Why this process cannot tell the others anything; empty if it can."""
    try:
        with closing(connect(url, name="paca-health")) as client:
            client.ping()
    except (RedisError, OSError):
        return "does not answer"
    return ""
