"""Two web servers and their services, shared by all journeys here. Each test starts its own workers."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.installation.manage_process import Running
from tests.support import valkey_server
from tests.support.flow import DIALECT
from tests.support.model_server import ModelServer
from tests.support.postgres_server import PostgresServer
from tests.support.split_deployment import Apart, Colleague, Person


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[Apart]:
    with valkey_server.running() as valkey:
        apart = Apart(tmp_path_factory.mktemp("apart"), postgres, valkey.url)
        yield apart
        apart.end()


@pytest.fixture(scope="module")
def webs(team: Apart) -> tuple[Running, Running]:
    return team.web("web-1"), team.web("web-2")


@pytest.fixture(scope="module")
def person(team: Apart, webs: tuple[Running, Running]) -> Person:
    return team.person(webs[0])


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def rosa(person: Person, model: ModelServer, request: pytest.FixtureRequest) -> Colleague:
    """A new agent, in the dialect of the test's parameter, or in the default dialect of this test run."""
    return person.agent(f"r{uuid4().hex[:10]}", model, getattr(request, "param", DIALECT))
