"""A thread with one connection to Redis of its own, which comes back by itself after any loss."""

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
# Longer than any answer takes, and than the reader of triggers blocks: a server that hangs is left.
ANSWER_SECONDS = 2.0
FIRST_DELAY_SECONDS = 0.02
# With the time to connect it bounds how late a process hears of a server that is back.
LONGEST_DELAY_SECONDS = 0.8
STEADY_SECONDS = 1.0

_chance = random.SystemRandom()


def connect(url: str, *, name: str) -> redis.Redis:
    """A client with at most one connection. It never repeats a command: that is our decision.

    In the older protocol: the newer one lets the server speak unasked, and a pooled connection that
    the server has closed was handed out for sound.
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


class Link(threading.Thread):
    """Holds a connection until it is ended; what is done with it is the subclass's ``session``."""

    def __init__(self, url: str, *, name: str) -> None:
        super().__init__(name=f"paca-bus-{name}", daemon=True)
        self.over = threading.Event()
        self._url = url
        self._failures = 0
        self._trouble = ""

    def session(self, client: redis.Redis) -> None:
        """Use the connection until ``over`` is set. What it raises is a lost connection."""
        raise NotImplementedError

    def run(self) -> None:
        """Hold a connection, wait a little longer after each loss, hold the next."""
        while True:
            began = clock.monotonic()
            with tolerated("bus connection"):  # a fault of ours must not leave the process deaf
                self._hold()
            if self.over.is_set():
                return
            steady = clock.monotonic() - began > STEADY_SECONDS
            self._failures = 1 if steady else self._failures + 1
            self.over.wait(_delay(self._failures))

    def well(self) -> None:
        """The connection works: say so if it had not."""
        if self._trouble:
            logger.info("the bus is back", extra={"link": self.name})
        self._trouble = ""

    def _hold(self) -> None:
        try:
            with closing(connect(self._url, name=self.name)) as client:
                self.session(client)
        except (redis.RedisError, OSError) as error:
            if not self._trouble and not self.over.is_set():
                logger.warning(
                    "the bus lost Redis; work goes on, up to two seconds late",
                    extra={"link": self.name, "cause": str(error)},
                )
            self._trouble = str(error)


def _delay(failures: int) -> float:
    """Twice as long after each failure, up to the bound, and never the same for two processes."""
    longest = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(failures - 1, 10))
    return longest * _chance.uniform(0.5, 1)
