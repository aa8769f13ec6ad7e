"""Two web servers and their services, shared by all journeys here. Each test starts its own workers."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.installation.manage_process import Running
from tests.support import valkey_server
from tests.support.flow import DIALECT
from tests.support.model_server import ModelServer
from tests.support.postgres_server import PostgresServer
from tests.support.split_deployment import ApiClient, RemoteAgent, SplitDeployment


@pytest.fixture(scope="module")
def deployment(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[SplitDeployment]:
    with valkey_server.running() as valkey:
        deployment = SplitDeployment(tmp_path_factory.mktemp("split"), postgres, valkey.url)
        yield deployment
        deployment.end()


@pytest.fixture(scope="module")
def webs(deployment: SplitDeployment) -> tuple[Running, Running]:
    return deployment.web("web-1"), deployment.web("web-2")


@pytest.fixture(scope="module")
def client(deployment: SplitDeployment, webs: tuple[Running, Running]) -> ApiClient:
    return deployment.client(webs[0])


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def agent(client: ApiClient, model: ModelServer, request: pytest.FixtureRequest) -> RemoteAgent:
    """A new agent, in the dialect of the test's parameter, or in the default dialect of this test run."""
    return client.agent(f"r{uuid4().hex[:10]}", model, getattr(request, "param", DIALECT))
