"""The first minutes on PostgreSQL, Valkey and Docker, with a web server and two workers."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from paca.sandbox.docker.engine import DockerEngine, DockerRefused
from tests.browser import actions
from tests.browser.conftest import WAIT_MS, PageWatcher
from tests.installation.manage_process import Running
from tests.support import docker_backend, valkey_server
from tests.support.flow import wait_until
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer
from tests.support.postgres_server import PostgresServer
from tests.support.split_deployment import (
    PASSWORD,
    ApiClient,
    RemoteAgent,
    RemoteConversation,
    SplitDeployment,
)

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]
DOCKER = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Waits long enough for a new worker, which imports the library of a model first."""
    expect.set_options(timeout=120_000)
    yield
    expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="module")
def deployment(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[SplitDeployment]:
    docker_backend.skip_without()
    folder = tmp_path_factory.mktemp("split")
    with valkey_server.running() as valkey:
        deployment = SplitDeployment(
            folder, postgres, valkey.url, PACA_SANDBOX="docker", DOCKER_HOST=DOCKER
        )
        yield deployment
        deployment.end()


@pytest.fixture(scope="module")
def web(deployment: SplitDeployment) -> Running:
    return deployment.web("web")


@pytest.fixture(scope="module")
def client(deployment: SplitDeployment, web: Running) -> Iterator[ApiClient]:
    """An installation whose sandboxes are removed from the daemon at the end."""
    found = deployment.client(web)
    yield found
    deployment.workers(1)
    listed = found.api("GET", f"{found.project}/conversations/")["results"]
    for each in listed:
        conversation = RemoteConversation(found, each["id"])
        conversation.stop()
        conversation.wait_until_idle()
        found.api("DELETE", f"{conversation.path}/")
    # The workers take away what belonged to them.
    wait_until(lambda: not _left(deployment, [each["id"] for each in listed]), 60)


def _left(deployment: SplitDeployment, conversations: list[str]) -> list[tuple]:
    statement = "SELECT id FROM conversations_sandbox WHERE conversation_id::text = ANY(%s)"
    return deployment.postgres.execute(statement, conversations, database=deployment.database)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def page(chromium: Browser, web: Running, watched: PageWatcher) -> Iterator[Page]:
    context = chromium.new_context(
        base_url=f"http://127.0.0.1:{web.port}", viewport={"width": 1440, "height": 900}
    )
    context.set_default_timeout(120_000)
    context.on("page", watched.watch)
    found = context.new_page()
    found.goto("/")
    found.get_by_label("Username").fill("admin")
    found.get_by_label("Password").fill(PASSWORD)
    found.get_by_role("button", name="Sign in").click()
    found.wait_for_url("**/projects/**")
    yield found
    context.close()


def begin(page: Page, agent: RemoteAgent, text: str) -> str:
    """Choose the agent and write to it; gives the conversation."""
    page.goto(f"{agent.client.project}/?agent={agent.id}")
    actions.write(page, text)
    page.wait_for_url("**/conversations/*-*/")
    return page.url.rstrip("/").rpartition("/")[2]


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_conversation_is_watched_reloaded_taken_over_and_stopped(
    deployment: SplitDeployment,
    client: ApiClient,
    model: ModelServer,
    page: Page,
    dialect: str,
    pictures: Path,
) -> None:
    both = deployment.workers(2)
    agent = client.agent(f"rosa-{dialect}", model, dialect)
    command = "echo x >> once.txt; pwd; sleep 6; echo whole"
    slow = says("A word and another one. " * 20).slowly(tps=30)
    count = "wc -l < once.txt"
    model.script(
        [says("I look.") + calls(bash=command), calls(bash=count), slow, calls(bash="sleep 300")]
    )

    conversation = begin(page, agent, "Look around")
    expect(page.locator("details.tool", has_text="once.txt").first).to_be_visible()
    wait_until(lambda: _command_runs(conversation), 60)
    deployment.owner_of(conversation, both).kill()
    expect(page.locator(".flow")).to_contain_text("Another one has taken over")
    expect(page.locator(".prose.is-writing")).to_be_visible()

    before = page.locator(".prose").last.inner_text()
    page.reload()
    expect(page.locator(".flow")).to_contain_text(before[:40])
    actions.wait_until(page, "finished")
    seen = actions.stored_rows(page)
    assert len(seen) == len(set(seen))
    outputs = [each["data"]["output"] for each in _results(client, conversation)]
    assert "/workspace" in outputs[0]
    assert "whole" in outputs[0]
    assert outputs[1].splitlines()[0].strip() == "1", "the command ran twice"
    page.screenshot(path=pictures / f"split-deployment-{dialect}.png")

    actions.write(page, "And once more")
    expect(page.locator("details.tool", has_text="sleep 300")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    actions.wait_until(page, "stopped")
    assert model.violations == []


def _events(client: ApiClient, conversation: str) -> list[dict]:
    path = f"{client.project}/conversations/{conversation}/events/?limit=200"
    return client.api("GET", path)["results"]


def _results(client: ApiClient, conversation: str) -> list[dict]:
    return [each for each in _events(client, conversation) if each["type"] == "agent.tool.returned"]


def _command_runs(conversation: str) -> bool:
    """Whether the first command has come to its ``sleep 6``. The start of its call is too early a sign."""
    engine = DockerEngine(DOCKER)
    named = engine.call_sync(lambda client: client.containers(filters={"name": conversation}))
    for container in named:
        with suppress(DockerRefused):  # it has ended meanwhile
            inside = engine.call_sync(lambda client, id=container["Id"]: client.top(id))
            return "sleep 6" in str(inside["Processes"])
    return False


def test_conversation_page_says_that_no_worker_runs_until_one_does(
    deployment: SplitDeployment, client: ApiClient, model: ModelServer, page: Page, pictures: Path
) -> None:
    deployment.workers(0)
    agent = client.agent("nils", model, "anthropic")
    model.script([says("Here I am.")])
    begin(page, agent, "Is anybody there?")
    notice = page.get_by_role("status").filter(has_text="No worker is running")
    expect(notice).to_contain_text("manage.py run_worker")
    page.screenshot(path=pictures / "no-worker.png")
    deployment.workers(1)
    actions.wait_until(page, "finished")
    expect(page.locator(".flow")).to_contain_text("Here I am.")
    expect(notice).to_have_count(0)
