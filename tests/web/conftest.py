"""Fixtures of page tests: a signed-in person, a project and an agent."""

import pytest
from django.test import Client

from tests.support.world import World, make_world


@pytest.fixture
def harbor(db: None) -> World:
    return make_world("Harbor")


@pytest.fixture
def ada(harbor: World) -> Client:
    """The browser of the owner, signed in."""
    client = Client()
    client.force_login(harbor.user)
    return client
