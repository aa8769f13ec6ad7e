"""A signed-in person, a project and an agent, as most tests of pages need them."""

import pytest
from django.test import Client

from tests.support import world
from tests.support.world import World


@pytest.fixture
def harbor(db: None) -> World:
    return world.make("Harbor")


@pytest.fixture
def ada(harbor: World) -> Client:
    """The owner's browser."""
    client = Client()
    client.force_login(harbor.user)
    return client
