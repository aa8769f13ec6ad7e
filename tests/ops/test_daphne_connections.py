"""Connections of daphne: a person who reads a response slowly is not taken for one who does nothing."""

from collections.abc import Iterator
from typing import Any

import pytest

from paca.ops.connections.limits import Limits
from paca.ops.connections.table import ConnectionTable
from paca.ops.daphne.bounded_http import BoundedConnection
from tests.support.fake_clock import FakeClock


class Twisted:
    """As much of Twisted's ProtocolWrapper and of its transport as the connection uses."""

    def __init__(self, factory: Any, wrapped: Any) -> None:
        self.dataBuffer = bytearray()
        self.is_aborted = False

    def makeConnection(self, transport: Any) -> None:
        self.transport = transport

    def write(self, data: bytes) -> None:
        self.dataBuffer += data

    def loseConnection(self) -> None:
        pass

    def abortConnection(self) -> None:
        self.is_aborted = True


class Daphne(BoundedConnection, Twisted):
    pass


@pytest.fixture
def moved() -> Iterator[FakeClock]:
    with FakeClock() as clock:
        yield clock


@pytest.fixture
def table(moved: FakeClock) -> ConnectionTable:
    return ConnectionTable(Limits(4, 4))


@pytest.fixture
def connection(table: ConnectionTable) -> Daphne:
    """A connection with a response of 1 MB that is written and not read."""
    opened = Daphne(None, None, table.admit("192.0.2.1"))
    opened.makeConnection(opened)
    opened.write(b"x" * 1_000_000)
    opened.wait_for_client()
    return opened


def minutes(number: int, table: ConnectionTable, clock: FakeClock) -> Iterator[None]:
    for _ in range(number):
        yield
        for _ in range(61):
            clock.advance(1)
            table.sweep()


def test_daphne_lets_a_client_read_slowly(table, connection, moved):
    for _ in minutes(10, table, moved):
        del connection.dataBuffer[:100_000]
    assert not connection.dataBuffer
    assert not connection.is_aborted


def test_daphne_ends_a_client_that_reads_nothing(table, connection, moved):
    list(minutes(1, table, moved))
    assert connection.is_aborted


def test_daphne_ends_a_client_that_has_read_and_asks_nothing_more(table, connection, moved):
    for _ in minutes(2, table, moved):
        connection.dataBuffer.clear()
    assert connection.dataBuffer.startswith(b"HTTP/1.1 408 ")
    for _ in range(6):
        moved.advance(1)
        table.sweep()
    assert connection.is_aborted
