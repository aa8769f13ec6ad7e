"""Receives the hints that other processes publish, and notices when it may have lost some."""

import threading
from collections.abc import Callable, Mapping

import redis
from redis.connection import ConnectionInterface

from paca.bus.base import Hint, HintsLost
from paca.bus.listener import Listener
from paca.bus.redis.connection import ConnectionThread

Decode = Callable[[bytes], Hint | None]

# After this long without a message the server is pinged; after as long again it counts as lost.
SILENCE_SECONDS = 1.0


class Subscriber(ConnectionThread):
    """The connection of one listener: its channels, and the function that decodes each one's messages."""

    def __init__(self, url: str, channels: Mapping[str, Decode], listener: Listener) -> None:
        super().__init__(url, name="subscriber")
        self._channels = {name.encode(): decode for name, decode in channels.items()}
        self._listener = listener
        self._subscribed = threading.Event()
        self._may_have_lost_hints = False

    def start_and_wait(self, seconds: float) -> None:
        """Start, and wait at most so long for the subscription. If it comes later, hints may be lost."""
        self.start()
        if not self._subscribed.wait(seconds):
            self._may_have_lost_hints = True

    def stop(self) -> None:
        """Deliver nothing more. The thread ends within a moment."""
        self._listener.closed = True
        self.stopping.set()

    def session(self, client: redis.Redis) -> None:
        """Subscribe, and offer each hint to the listener until this is stopped.

        Raises ``TimeoutError`` if the server is silent.
        """
        connection = client.connection_pool.get_connection()
        connection.send_command("SUBSCRIBE", *self._channels)  # type: ignore[no-untyped-call]
        ping_sent = False
        while not self.stopping.is_set():
            if connection.can_read(timeout=SILENCE_SECONDS):
                ping_sent = False
                self._receive(connection)
            elif ping_sent:
                raise redis.TimeoutError("the server does not answer")
            else:
                connection.send_command("PING", check_health=False)  # type: ignore[no-untyped-call]
                ping_sent = True

    def _receive(self, connection: ConnectionInterface) -> None:
        try:
            kind, channel, content = (*connection.read_response(), None)[:3]
        except redis.ResponseError as error:
            if not str(error).startswith("MISCONF"):
                raise
            return  # a server that cannot save to its disk answers so to a PING, and still publishes
        if kind == b"message":
            hint = self._channels[channel](content)
            if hint is not None and not self._listener.offer(hint):
                self.stop()  # the listener's loop is closed
        elif kind == b"subscribe" and content == len(self._channels):
            self._on_subscribed()

    def _on_subscribed(self) -> None:
        self.report_connected()
        if self._may_have_lost_hints:
            self._listener.offer(HintsLost())
        self._may_have_lost_hints = True  # the next subscription comes after a lost connection
        self._subscribed.set()
