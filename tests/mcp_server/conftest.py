"""A web server with the whole application, a project, and callers with tokens."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from paca.accounts.services import tokens
from tests.support.live_server import LiveServer, running
from tests.support.mcp_caller import McpCaller
from tests.support.world import World, make_world


@pytest.fixture(scope="package")
def running_server(django_db_setup: None) -> Iterator[LiveServer]:
    """One server for all tests: it keeps nothing from one request to the next."""
    with running("paca.asgi:application") as live:
        yield live


@pytest.fixture
def server(transactional_db: None, running_server: LiveServer) -> LiveServer:
    cache.clear()
    return running_server


@pytest.fixture
def world(transactional_db: None) -> World:
    return make_world()


@pytest.fixture
def caller(server: LiveServer, world: World) -> McpCaller:
    """A caller with a token of the owner."""
    token = tokens.create(world.user, name="editor", scopes=[], by=world.user)[1]
    return McpCaller(server.port, token)
