"""A Valkey for the tests of the bus: one for all that leave it running, one for each that does not."""

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
    """Empty, and to be left running."""
    shared_valkey.wipe()
    return shared_valkey


@pytest.fixture
def own_valkey() -> Iterator[ValkeyServer]:
    """To be stopped, killed and frozen."""
    with running() as server:
        yield server


@pytest.fixture
def connect() -> Iterator[Callable[..., RedisBus]]:
    """Makes buses, as several processes would have them."""
    made: list[RedisBus] = []

    def make(server: ValkeyServer, **options: Any) -> RedisBus:
        made.append(RedisBus(server.url, **options))
        return made[-1]

    yield make
    for bus in made:
        bus.close()
