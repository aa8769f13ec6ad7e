"""Connections to Redis, and a thread that keeps one and reconnects after any loss."""

import logging
import random
import threading
from contextlib import closing

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from paca.common import clock
from paca.common.best_effort import tolerated

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 1.0
# Longer than any answer takes, and than the trigger reader blocks: a server that hangs is given up.
ANSWER_SECONDS = 2.0
FIRST_DELAY_SECONDS = 0.02
# Together with the time to connect, this bounds how late a process notices that Redis is back.
LONGEST_DELAY_SECONDS = 0.8
STEADY_SECONDS = 1.0

_random = random.SystemRandom()


def connect(url: str, *, name: str) -> redis.Redis:
    """A client with at most one connection. It never retries a command: the callers decide that.

    It uses protocol 2. With protocol 3 the server may send unasked, and the pool then handed out a
    connection that the server had closed.
    """
    return redis.Redis.from_url(
        url,
        protocol=2,
        max_connections=1,
        client_name=name,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_keepalive=True,
        retry=Retry(NoBackoff(), 0),
    )


class ConnectionThread(threading.Thread):
    """Keeps a connection until it is stopped. A subclass uses the connection in ``session``."""

    def __init__(self, url: str, *, name: str) -> None:
        super().__init__(name=f"paca-bus-{name}", daemon=True)
        self.stopping = threading.Event()
        self._url = url
        self._failures = 0
        self._last_error = ""

    def session(self, client: redis.Redis) -> None:
        """Use the connection until ``stopping`` is set. An exception counts as a lost connection."""
        raise NotImplementedError

    def run(self) -> None:
        """Connect, run the session, wait a little longer after each loss, and connect again."""
        while True:
            began = clock.monotonic()
            with tolerated("bus connection"):  # a bug must not cut the process off from the bus
                self._run_session()
            if self.stopping.is_set():
                return
            steady = clock.monotonic() - began > STEADY_SECONDS
            self._failures = 1 if steady else self._failures + 1
            self.stopping.wait(_reconnect_delay(self._failures))

    def report_connected(self) -> None:
        """The connection works: log it if the last one was lost."""
        if self._last_error:
            logger.info("the bus is back", extra={"link": self.name})
        self._last_error = ""

    def _run_session(self) -> None:
        try:
            with closing(connect(self._url, name=self.name)) as client:
                self.session(client)
        except (redis.RedisError, OSError) as error:
            if not self._last_error and not self.stopping.is_set():
                logger.warning(
                    "the bus lost Redis; work goes on, up to two seconds late",
                    extra={"link": self.name, "cause": str(error)},
                )
            self._last_error = str(error)


def _reconnect_delay(failures: int) -> float:
    """Seconds to wait: twice as long after each failure, up to the bound, and random by up to half,
    so that the processes do not all reconnect at once.
    """
    longest = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(failures - 1, 10))
    return longest * _random.uniform(0.5, 1)
