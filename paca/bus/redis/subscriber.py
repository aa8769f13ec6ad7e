"""Hears what other processes publish, and tells its listener when it may have missed something."""

import threading
from collections.abc import Callable, Mapping

import redis
from redis.connection import ConnectionInterface

from paca.bus.base import Hint, HintsLost
from paca.bus.listener import Listener
from paca.bus.redis.connection import Link

Decode = Callable[[bytes], Hint | None]

# After this much silence the server is asked whether it is there; after as much again it is left.
SILENCE_SECONDS = 1.0


class Subscriber(Link):
    """One listener's connection: some channels, and how the messages of each are read."""

    def __init__(self, url: str, channels: Mapping[str, Decode], listener: Listener) -> None:
        super().__init__(url, name="subscriber")
        self._channels = {name.encode(): decode for name, decode in channels.items()}
        self._listener = listener
        self._subscribed = threading.Event()
        self._missed = False

    def begin(self, seconds: float) -> None:
        """Start, and wait so long for the subscription. If it comes later, something was missed."""
        self.start()
        if not self._subscribed.wait(seconds):
            self._missed = True

    def end(self) -> None:
        """Hear nothing more; the thread ends within a moment."""
        self._listener.closed = True
        self.over.set()

    def session(self, client: redis.Redis) -> None:
        """Subscribe, and hand over what comes until the server is silent or it is over."""
        connection = client.connection_pool.get_connection()
        connection.send_command("SUBSCRIBE", *self._channels)  # type: ignore[no-untyped-call]
        was_asked = False
        while not self.over.is_set():
            if connection.can_read(timeout=SILENCE_SECONDS):
                was_asked = False
                self._hear(connection)
            elif was_asked:
                raise redis.TimeoutError("the server says nothing")
            else:
                connection.send_command("PING", check_health=False)  # type: ignore[no-untyped-call]
                was_asked = True

    def _hear(self, connection: ConnectionInterface) -> None:
        kind, channel, content = (*connection.read_response(), None)[:3]
        if kind == b"message":
            hint = self._channels[channel](content)
            if hint is not None and not self._listener.offer(hint):
                self.end()  # the listener's loop is closed
        elif kind == b"subscribe" and content == len(self._channels):
            self._is_subscribed()

    def _is_subscribed(self) -> None:
        self.well()
        if self._missed:
            self._listener.offer(HintsLost())
        self._missed = True  # the next time will be after a loss
        self._subscribed.set()
