"""The open connections of a web server, their limits in number and time, and who is closed for a new one.

It knows no server: uvicorn and daphne tell it what each connection does.
"""

import ipaddress
import logging
from collections import defaultdict
from collections.abc import Callable, Container
from functools import lru_cache

from paca.common import clock
from paca.ops.connections.limits import (
    CLOSE_TIMEOUT_SECONDS,
    MIN_BODY_BYTES_PER_SECOND,
    SEND_TIMEOUT_SECONDS,
    Limits,
)

logger = logging.getLogger(__name__)
SWEEP_SECONDS = 1.0
REPORT_SECONDS = 10.0


class Connection:
    """One connection. It has a deadline while the server waits for its client, and none while it works."""

    __slots__ = (
        "_body_bytes",
        "_body_began",
        "_table",
        "abort",
        "address",
        "deadline",
        "is_read",
        "time_out",
    )

    def __init__(self, table: "ConnectionTable", address: str) -> None:
        self._table = table
        self.address = address
        # Ends the connection at once, whether or not all is sent.
        self.abort: Callable[[], object] = _not_open
        # What happens at the deadline.
        self.time_out: Callable[[], object] = _not_open
        self.deadline: float | None = None
        # Whether it waits for a client that reads a response: a download over a slow line.
        self.is_read = False
        self._body_began = 0.0
        self._body_bytes = 0

    def opened(self, *, abort: Callable[[], object], time_out: Callable[[], object]) -> None:
        """The server can read from the connection, and can end it from now on."""
        self.abort, self.time_out = abort, time_out
        self.waits_for_head()

    def waits_for_head(self) -> None:
        """The client has connected or has begun a request, and must send its head in time."""
        self._wait(self._table.limits.head_seconds)

    def waits_for_request(self) -> None:
        """The last response is sent, and the client may begin another request."""
        self._wait(self._table.limits.idle_seconds)

    def waits_for_body(self) -> None:
        """The head is complete, and the body must come at the minimum rate."""
        self._body_began, self._body_bytes = clock.monotonic(), 0
        self._wait(self._table.limits.body_seconds)

    def received_body(self, length: int) -> None:
        """Some bytes of the body have come, and give the client more time."""
        self._body_bytes += length
        end = self._body_began + self._table.limits.body_seconds
        self.deadline = end + self._body_bytes / MIN_BODY_BYTES_PER_SECOND

    def waits_for_reader(self) -> None:
        """The client reads the response too slowly, and more than the server buffers is unsent."""
        self._wait(SEND_TIMEOUT_SECONDS)
        self.is_read = True

    def waits_for_close(self, seconds: float = CLOSE_TIMEOUT_SECONDS) -> None:
        """The server has closed the connection, and the last bytes are on their way."""
        self.time_out = self.abort
        self._wait(seconds)

    def works(self) -> None:
        """The server handles a request, or the connection is a socket with limits of its own."""
        self.deadline = None
        self._table.stopped_waiting(self)

    def ended(self) -> None:
        """The connection is closed and its descriptor is free."""
        self._table.remove(self)

    def _wait(self, seconds: float) -> None:
        self.deadline, self.is_read = clock.monotonic() + seconds, False
        self._table.began_waiting(self)


class ConnectionTable:
    """Admits connections up to a number in all and for each address.

    Above it, the server closes a connection that only waits for its client, in favour of the new one: of
    the address with most of them, the one that has waited longest, and a download last. So half requests,
    of any number, keep nobody out. A new connection is refused only while all others are in use.

    ``trusted``: the addresses of proxies. All people behind a proxy share its address, and the head that
    names theirs has not been read yet, so a proxy may use all connections and must limit people itself.
    """

    def __init__(self, limits: Limits, *, trusted: Container[str] = ()) -> None:
        self.limits = limits
        self._trusted = trusted
        self._all: dict[str, set[Connection]] = defaultdict(set)
        self._waiting: dict[str, dict[Connection, None]] = defaultdict(dict)  # the longest first
        self._count = 0
        self._closed = self._refused = 0
        self._last_sweep = clock.monotonic()
        self._next_report = 0.0

    def __len__(self) -> int:
        return self._count

    def admit(self, peer: str) -> Connection | None:
        """A new connection of the address ``peer``, or None if it must be refused."""
        address = _group_of(peer)
        if not self._make_room(address, is_limited=bool(peer) and peer not in self._trusted):
            self._refused += 1
            return None
        connection = Connection(self, address)
        self._all[address].add(connection)
        self._count += 1
        return connection

    def close_one(self) -> bool:
        """Close a connection that waits for its client; False if there is none."""
        if not self._waiting:
            return False
        return self._close_one_of(max(self._waiting, key=self._rank))

    def _rank(self, address: str) -> tuple[int, bool]:
        waiting = self._waiting[address]
        return len(waiting), not all(each.is_read for each in waiting)

    def sweep(self) -> None:
        """End the connections whose deadline has passed. A server calls this about each second."""
        now = clock.monotonic()
        # While the process stood still, clients may have sent what is not read yet.
        late = max(now - self._last_sweep - 2 * SWEEP_SECONDS, 0.0)
        self._last_sweep = now
        for connections in list(self._waiting.values()):
            for connection in list(connections):
                if connection.deadline is not None:
                    connection.deadline += late
                    if connection.deadline <= now:
                        # guard: connections-time
                        connection.time_out()
        self._report(now)

    def began_waiting(self, connection: Connection) -> None:
        """The connection waits for its client from now on."""
        if connection in self._all.get(connection.address, ()):
            self._waiting[connection.address].pop(connection, None)
            self._waiting[connection.address][connection] = None

    def stopped_waiting(self, connection: Connection) -> None:
        """The connection does not wait for its client any more."""
        of_address = self._waiting.get(connection.address, {})
        of_address.pop(connection, None)
        if not of_address:
            self._waiting.pop(connection.address, None)

    def remove(self, connection: Connection) -> None:
        """Forget a connection that has ended; a second time changes nothing."""
        self.stopped_waiting(connection)
        of_address = self._all.get(connection.address, set())
        if connection in of_address:
            of_address.remove(connection)
            self._count -= 1
        if not of_address:
            self._all.pop(connection.address, None)

    def _make_room(self, address: str, *, is_limited: bool) -> bool:
        # guard: connections-per-address
        if is_limited and len(self._all.get(address, ())) >= self.limits.per_address:
            return self._close_one_of(address)
        # guard: connections-in-all
        if self._count >= self.limits.connections:
            return self.close_one()
        return True

    def _close_one_of(self, address: str) -> bool:
        waiting = self._waiting.get(address)
        if not waiting:
            return False
        # guard: connections-downloads-last
        connection = next((each for each in waiting if not each.is_read), next(iter(waiting)))
        self._closed += 1
        self.remove(connection)
        connection.abort()
        return True

    def _report(self, now: float) -> None:
        """Log at most one line in ten seconds, however many connections are refused."""
        if now < self._next_report or not (self._closed or self._refused):
            return
        self._next_report = now + REPORT_SECONDS
        logger.warning(
            "too many connections",
            extra={
                "open": self._count,
                "limit": self.limits.connections,
                "limit_per_address": self.limits.per_address,
                "closed_while_waiting": self._closed,
                "refused": self._refused,
                "most_from": max(self._all, key=lambda each: len(self._all[each]), default=""),
            },
        )
        self._closed = self._refused = 0


def _not_open() -> None:
    """There is nothing to end before a connection is open; until then it does not wait either."""


@lru_cache(maxsize=10_000)
def _group_of(peer: str) -> str:
    """The address for counting: a person with IPv6 has a whole /64 network of them."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(address, ipaddress.IPv4Address):
        return peer
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))
