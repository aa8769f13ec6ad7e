"""A team links a repository; an agent works on it, people approve, and a review comes back, on Docker."""

from __future__ import annotations

import json
import re
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_board import create
from tests.browser.test_split_deployment import DOCKER, patience
from tests.browser.test_teammates import (
    Browsers,
    browsers,
    create_project,
    hire,
    id_of,
    model,
    remove_sandboxes,
    sign_in,
)
from tests.support import docker_backend, valkey_server
from tests.support.flow import wait_until
from tests.support.forge import Forge
from tests.support.git_host_server import TOKEN
from tests.support.git_server import git
from tests.support.model_script import Scripted, calls, says
from tests.support.model_server import ModelServer
from tests.support.postgres_server import PostgresServer
from tests.support.split_deployment import ApiClient, SplitDeployment

__all__ = ["browsers", "model", "patience"]
pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]
COMMIT = "cd shop && git checkout -q -B {branch} && echo '{text}' > totals.py && git commit -qam '{text}' && echo commit=$(git rev-parse HEAD)"


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with Forge(tmp_path / "forge") as forge:
        yield forge


@pytest.fixture
def deployment(tmp_path: Path, postgres: PostgresServer, forge: Forge) -> Iterator[SplitDeployment]:
    docker_backend.skip_without()
    with valkey_server.running() as valkey:
        found = SplitDeployment(
            tmp_path,
            postgres,
            valkey.url,
            PACA_SANDBOX="docker",
            DOCKER_HOST=DOCKER,
            PRIVATE_GIT_SERVERS=f"127.0.0.1:{forge.port}",
        )
        try:
            yield found
        finally:
            found.end()


@pytest.fixture
def client(deployment: SplitDeployment) -> Iterator[ApiClient]:
    """A web server and a worker; afterwards no sandbox is left on the daemon."""
    found = deployment.client(deployment.web("web"))
    deployment.workers(1)
    yield found
    remove_sandboxes(found, deployment)


class Work:
    """What the model answers, in turn. A step may read the request: a commit is known only from its command."""

    def __init__(self, *steps: Scripted | Callable[[dict[str, Any]], Scripted]) -> None:
        self.steps = deque(steps)

    def __call__(self, body: dict[str, Any]) -> Scripted:
        step = self.steps.popleft()
        return step(body) if callable(step) else step


def push(body: dict[str, Any]) -> Scripted:
    commit = re.findall(r"commit=([0-9a-f]{40})", json.dumps(body["messages"][-1]))[-1]
    return calls(push_branch={"repository": "shop", "branch": "totals", "commit": commit})


def link_repository(page: Page, project: str, forge: Forge) -> str:
    """Add the connection, link the repository, try it, and make a webhook's secret; gives that."""
    page.goto(f"{project}repositories/")
    page.locator("summary", has_text="Add a connection").click()
    page.locator("#connection-new-name").fill("Our Gitea")
    page.locator("#connection-new-kind").select_option("gitea")
    page.get_by_label("Address of the server").fill(forge.address)
    page.get_by_label("Token, password or private key").fill(TOKEN)
    page.get_by_role("button", name="Add it").click()
    expect(page.locator("summary", has_text="Our Gitea")).to_be_visible()
    link = page.locator("form", has=page.get_by_role("button", name="Link it"))
    link.get_by_label("Address").fill(forge.url("team/shop"))
    link.get_by_label("Connection").select_option(label=f"Our Gitea ({forge.address})")
    page.get_by_role("button", name="Link it").click()
    row = page.locator("details", has=page.locator("summary", has_text="team/shop.git"))
    row.locator("summary").first.click()
    row.get_by_role("button", name="Test the connection").click()
    expect(row).to_contain_text("Works")
    if row.get_attribute("open") is None:
        row.locator("summary").first.click()
    row.get_by_role("button", name="Make a secret").click()
    shown = row.get_by_label("Secret of the webhook, shown once")
    expect(shown).to_have_value(re.compile(".{20,}"))
    return shown.input_value()


def approve(page: Page, tool: str) -> None:
    ask = page.locator("paca-ask").filter(has_text=tool)
    expect(ask).to_be_visible()
    ask.get_by_role("button", name=re.compile("^Approve( A)?$")).click()


def test_agent_clones_works_opens_a_pull_request_and_follows_its_review(
    client: ApiClient,
    deployment: SplitDeployment,
    browsers: Browsers,
    model: ModelServer,
    forge: Forge,
    pictures: Path,
) -> None:
    page = browsers.page()
    sign_in(page)
    project = create_project(page, "Harbor")
    secret = link_repository(page, project, forge)
    page.screenshot(path=pictures / "repositories.png", full_page=True)
    hire(page, project, model)
    opened = {"repository": "shop", "branch": "totals", "title": "Totals", "body": "Two."}
    work = Work(
        calls(clone_repository={"name": "shop"}),
        calls(bash=COMMIT.format(branch="totals", text="TOTAL = 2")),
        push,
        calls(create_pull_request=opened),
        says("The pull request is open."),
        calls(bash=COMMIT.format(branch="totals", text="TOTAL = 3")),
        push,
        says("The review is done."),
    )
    model.script(work)
    page.goto(f"{project}board/")
    create(page, "Count the totals").get_by_role("link").click()
    page.wait_for_url("**/tasks/1/")
    page.get_by_label("Assign a member").select_option(label="Rosa (agent)")
    conversation = conversation_of(client, project)
    page.goto(f"{project}conversations/{conversation}/")
    approve(page, "push_branch")
    approve(page, "create_pull_request")
    expect(page.locator(".flow")).to_contain_text("The pull request is open.")
    bare = str(forge.root / "team" / "shop.git")
    assert git("-C", bare, "show", "totals:totals.py") == "TOTAL = 2"
    assert git("-C", bare, "show", "main:totals.py") == "TOTAL = 1"
    [pull] = forge.api.pulls
    expect(page.locator(f"a[href='{pull['html_url']}']").first).to_be_visible()
    page.screenshot(path=pictures / "pull-request.png")

    repository = client.api("GET", f"/projects/{id_of(project)}/repositories/")["results"][0]
    hook = f"http://127.0.0.1:{client.web.port}/webhooks/git/{repository['id']}/"
    assert forge.review(hook, secret, "Three, please.") in (200, 202, 204)
    approve(page, "push_branch")
    expect(page.locator(".flow")).to_contain_text("The review is done.")
    assert git("-C", bare, "show", "totals:totals.py") == "TOTAL = 3"
    assert len(forge.api.pulls) == 1
    assert not work.steps
    assert model.violations == []
    expect_no_token(forge.secrets, places(client, deployment, project, model))


def conversation_of(client: ApiClient, project: str) -> str:
    """The only conversation of the project, once it exists."""
    path = f"/projects/{id_of(project)}/conversations/"
    [found] = wait_until(lambda: client.api("GET", path)["results"], 60)
    return str(found["id"])


def expect_no_token(secrets: set[bytes], places: Iterator[tuple[str, bytes]]) -> None:
    """Look for the token in the sandbox, the database, the logs and the requests to the model."""
    looked = [*places, ("control", b"a place where it is: " + min(secrets))]
    assert len(secrets) > 1
    assert [name for name, data in looked if any(each in data for each in secrets)] == ["control"]


def places(
    client: ApiClient, deployment: SplitDeployment, project: str, model: ModelServer
) -> Iterator[tuple[str, bytes]]:
    """The places where a token could have got to, by name."""
    base = f"/projects/{id_of(project)}/conversations/"
    [conversation] = client.api("GET", base)["results"]
    log = client.api("GET", f"{base}{conversation['id']}/events/?limit=200")
    yield "the log", json.dumps(log).encode()
    for number, request in enumerate(model.requests):
        yield f"request {number} to the model", request.raw
    for process in (client.web, *deployment.workers(1)):
        yield "the output of a process", process.output.encode()
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    for (table,) in deployment.postgres.execute(tables, database=deployment.database):
        rows = deployment.postgres.execute(
            f'SELECT to_jsonb(t)::text FROM "{table}" t', database=deployment.database
        )
        yield f"table {table}", repr(rows).encode()
    yield from in_sandbox(conversation["id"])


def in_sandbox(conversation: str) -> Iterator[tuple[str, bytes]]:
    """The environment, the memory and the files of the processes of a sandbox, read from the host."""
    containers = docker("ps", "-q", "--filter", f"label=paca.conversation_id={conversation}")
    [container] = containers.split()
    processes = docker("top", container, "-eo", "pid").split()[1:]
    assert processes
    for pid in processes:
        yield f"environment of {pid}", Path(f"/proc/{pid}/environ").read_bytes()
        yield f"memory of {pid}", b"".join(memory_of(pid))
    root = Path(f"/proc/{processes[0]}/root")
    for folder in ("workspace", "tmp", "home", "run"):
        for path in (root / folder).rglob("*"):
            if path.is_file() and not path.is_symlink():
                yield f"file {path}", path.read_bytes()


def memory_of(pid: str) -> Iterator[bytes]:
    """The parts of a process's memory that can be written."""
    with Path(f"/proc/{pid}/mem").open("rb") as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            where, rights = line.split()[:2]
            begin, end = (int(part, 16) for part in where.split("-"))
            if rights.startswith("rw"):
                memory.seek(begin)
                try:
                    yield memory.read(end - begin)
                except OSError:  # a part that the kernel keeps
                    continue


def docker(*arguments: str) -> str:
    command = ["docker", "--host", DOCKER, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
