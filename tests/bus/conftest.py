"""Valkey servers for the tests of the bus: a shared one, and an own one for tests that stop it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from paca.bus.redis.bus import RedisBus
from tests.support.valkey_server import ValkeyServer, running


@pytest.fixture(scope="session")
def shared_valkey() -> Iterator[ValkeyServer]:
    with running() as server:
        yield server


@pytest.fixture
def valkey(shared_valkey: ValkeyServer) -> ValkeyServer:
    """A shared Valkey, empty. Tests leave it running."""
    shared_valkey.wipe()
    return shared_valkey


@pytest.fixture
def own_valkey() -> Iterator[ValkeyServer]:
    """A Valkey of this test, which may stop, kill and freeze it."""
    with running() as server:
        yield server


@pytest.fixture
def connect() -> Iterator[Callable[..., RedisBus]]:
    """Makes a bus for a server, as another process would. All are closed after the test."""
    buses: list[RedisBus] = []

    def make_bus(server: ValkeyServer, **options: Any) -> RedisBus:
        buses.append(RedisBus(server.url, **options))
        return buses[-1]

    yield make_bus
    for bus in buses:
        bus.close()
