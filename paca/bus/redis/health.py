"""Checks once whether Redis answers, on a connection of its own."""

from contextlib import closing

from redis import RedisError

from paca.bus.redis.connection import connect


def find_fault(url: str) -> str:
    """Why this process cannot reach the others; empty if it can."""
    try:
        with closing(connect(url, name="paca-health")) as client:
            client.ping()
    except (RedisError, OSError):
        return "does not answer"
    return ""
