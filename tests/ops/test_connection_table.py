"""The table of connections: who is admitted, who is closed for a new one, and when a client is too slow."""

import logging
from collections.abc import Iterator

import pytest

from paca.ops.connections.limits import Limits, default_connections
from paca.ops.connections.table import Connection, ConnectionTable
from tests.support.fake_clock import FakeClock

PROXY = "10.0.0.1"


@pytest.fixture
def moved() -> Iterator[FakeClock]:
    with FakeClock() as clock:
        yield clock


class Peers:
    """Opens connections in a table, and notes which the table ends."""

    def __init__(self, connections: int = 4, per_address: int = 3) -> None:
        self.table = ConnectionTable(Limits(connections, per_address), trusted={PROXY})
        self.ended: list[str] = []

    def open(self, name: str, address: str = "192.0.2.1") -> Connection | None:
        connection = self.table.admit(address)
        if connection is not None:
            connection.opened(
                abort=lambda: self.ended.append(name),
                time_out=lambda: self.time_out(name, connection),
            )
        return connection

    def time_out(self, name: str, connection: Connection) -> None:
        self.ended.append(name)
        connection.ended()


def test_table_closes_the_longest_waiting_connection_of_the_busiest_address(moved):
    peers = Peers()
    for name, address in (
        ("a1", "192.0.2.1"),
        ("b1", "192.0.2.2"),
        ("b2", "192.0.2.2"),
        ("c1", "192.0.2.3"),
    ):
        assert peers.open(name, address)
        moved.advance(1)
    assert peers.open("d1", "192.0.2.4")
    assert peers.ended == ["b1"]
    assert len(peers.table) == 4


def test_table_refuses_a_connection_only_while_all_others_are_in_use(moved):
    peers = Peers(per_address=10)
    for number in range(4):
        peers.open(f"a{number}").works()
    assert peers.open("b", "192.0.2.2") is None
    assert peers.ended == []


def test_table_closes_a_download_only_when_nothing_else_waits(moved):
    peers = Peers(per_address=4)
    downloads = {name: peers.open(name, f"192.0.2.{name}") for name in ("1", "2")}
    for each in downloads.values():
        each.works()
        each.waits_for_reader()
    for name in ("3", "4"):
        peers.open(name, f"192.0.2.{name}")
    assert peers.open("5", "192.0.2.5")
    assert peers.open("6", "192.0.2.6")
    assert peers.ended == ["3", "4"]
    peers.open("more of a downloader", "192.0.2.1")
    peers.open("and more", "192.0.2.1")
    peers.open("7", "192.0.2.7")
    assert "1" not in peers.ended


def test_address_cannot_use_more_than_its_share(moved):
    peers = Peers()
    for number in range(3):
        peers.open(f"a{number}").works()
    assert peers.open("a3") is None
    assert peers.open("b", "192.0.2.2")


def test_proxy_may_use_all_connections(moved):
    peers = Peers()
    for number in range(4):
        peers.open(f"p{number}", PROXY).works()
    assert len(peers.table) == 4


def test_network_of_one_person_counts_as_one_address(moved):
    peers = Peers()
    for number in range(3):
        peers.open(f"a{number}", f"2001:db8::{number}").works()
    assert peers.open("same network", "2001:db8::ffff") is None
    assert peers.open("another", "2001:db8:0:1::1")


def test_head_must_arrive_in_time_however_slowly_it_drips(moved):
    peers = Peers()
    peers.open("slow")
    for _ in range(19):
        moved.advance(1)
        peers.table.sweep()
    assert peers.ended == []
    moved.advance(1)
    peers.table.sweep()
    assert peers.ended == ["slow"]


def test_body_must_arrive_at_a_minimum_rate(moved):
    peers = Peers()
    uploads = peers.open("uploads")
    drips = peers.open("drips")
    uploads.waits_for_body()
    drips.waits_for_body()
    for _ in range(30):
        moved.advance(1)
        uploads.received_body(16 * 1024)
        drips.received_body(1)
        peers.table.sweep()
    assert peers.ended == ["drips"]


def test_client_is_not_blamed_for_a_pause_of_the_server(moved):
    peers = Peers()
    peers.open("patient")
    moved.advance(100)
    peers.table.sweep()
    assert peers.ended == []


def test_connection_that_is_in_use_has_no_deadline(moved):
    peers = Peers()
    peers.open("socket").works()
    for _ in range(1000):
        moved.advance(1)
        peers.table.sweep()
    assert peers.ended == []


def test_ended_connection_frees_its_place_once(moved):
    peers = Peers(connections=1)
    first = peers.open("first")
    first.ended()
    first.ended()
    assert len(peers.table) == 0
    assert peers.open("second")


def test_flood_of_connections_is_one_line_in_the_log(moved, caplog):
    peers = Peers(connections=4, per_address=4)
    with caplog.at_level(logging.WARNING):
        for number in range(1000):
            peers.open(f"a{number}")
            peers.table.sweep()
    (line,) = [each for each in caplog.records if each.name.endswith("connections.table")]
    assert line.limit == 4
    moved.advance(11)
    peers.table.sweep()
    assert caplog.records[-1].closed_while_waiting + line.closed_while_waiting == 996


@pytest.mark.parametrize(
    ("open_files", "connections"), [(256, 128), (1024, 768), (65_536, 4_000), (1 << 20, 4_000)]
)
def test_default_number_of_connections_leaves_files_for_the_rest(open_files, connections):
    assert default_connections(open_files) == connections
