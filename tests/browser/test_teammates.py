"""People and an agent work on a task together, on PostgreSQL, Valkey and Docker, while a viewer watches."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import WAIT_MS, PageWatcher
from tests.browser.test_board import create
from tests.browser.test_split_deployment import DOCKER
from tests.support import docker_backend, valkey_server
from tests.support.flow import wait_until
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer
from tests.support.postgres_server import PostgresServer
from tests.support.split_deployment import PASSWORD, ApiClient, SplitDeployment
from tests.support.world import MODEL

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]
TITLE = "Write the release notes"


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Waits long enough for a new worker, which imports the library of a model first."""
    expect.set_options(timeout=120_000)
    yield
    expect.set_options(timeout=WAIT_MS)


@pytest.fixture
def client(tmp_path: Path, postgres: PostgresServer) -> Iterator[ApiClient]:
    """A web server and a worker; afterwards no sandbox is left on the daemon."""
    docker_backend.skip_without()
    with valkey_server.running() as valkey:
        deployment = SplitDeployment(
            tmp_path, postgres, valkey.url, PACA_SANDBOX="docker", DOCKER_HOST=DOCKER
        )
        try:
            found = deployment.client(deployment.web("web"))
            deployment.workers(1)
            yield found
            remove_sandboxes(found, deployment)
        finally:
            deployment.end()


def remove_sandboxes(client: ApiClient, deployment: SplitDeployment) -> None:
    for project in client.api("GET", "/projects/")["results"]:
        base = f"/projects/{project['id']}/conversations/"
        for conversation in client.api("GET", base)["results"]:
            client.api("DELETE", f"{base}{conversation['id']}/")
    count = "SELECT count(*) FROM conversations_sandbox WHERE conversation_id IS NOT NULL"
    wait_until(
        lambda: deployment.postgres.execute(count, database=deployment.database) == [(0,)], 60
    )


class Browsers:
    """Browsers of several people; a problem on any of their pages fails the test."""

    def __init__(self, chromium: Browser, url: str, watched: PageWatcher) -> None:
        self._chromium, self._url, self._watched = chromium, url, watched
        self.opened: list[BrowserContext] = []

    def page(self) -> Page:
        context = self._chromium.new_context(
            base_url=self._url, locale="en-GB", viewport={"width": 1440, "height": 900}
        )
        context.set_default_timeout(120_000)
        context.on("page", self._watched.watch)
        self.opened.append(context)
        return context.new_page()


@pytest.fixture
def browsers(client: ApiClient, chromium: Browser, watched: PageWatcher) -> Iterator[Browsers]:
    found = Browsers(chromium, f"http://127.0.0.1:{client.web.port}", watched)
    yield found
    for context in found.opened:
        context.close()


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def sign_in(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/projects/**")


def id_of(project: str) -> str:
    return project.rstrip("/").rpartition("/")[2]


def create_project(page: Page, name: str) -> str:
    """Create a project on its page, go to another one and back; gives its address."""
    page.get_by_role("button", name=re.compile("Demo")).click()
    page.get_by_role("menuitem", name="New project").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url(re.compile(r"/projects/[0-9a-f-]{36}/$"))
    address = page.url
    page.get_by_role("button", name=name).click()
    page.get_by_role("menuitem", name="Demo").click()
    page.get_by_role("button", name="Demo").click()
    page.get_by_role("menuitem", name=name).click()
    page.wait_for_url(address)
    return address


def hire(page: Page, project: str, model: ModelServer) -> None:
    page.goto(f"{project}agents/new/")
    page.get_by_role("radio").first.check()
    page.get_by_label("Name", exact=True).fill("Rosa")
    expect(page.get_by_label("Handle")).to_have_value("rosa")
    page.locator("#model").fill(MODEL)
    page.get_by_text("Key, own server and role").click()
    page.get_by_label("API key").fill("sk-test-1234")
    page.get_by_label("Own base URL").fill(model.base_url)
    page.get_by_role("button", name="Add the agent").click()
    page.wait_for_url("**/settings/**")


def invite_viewer(page: Page, project: str, viewer: Page) -> None:
    page.goto(f"{project}team/")
    page.get_by_label("Role", exact=True).select_option(label="Viewer")
    page.get_by_role("button", name="Make a link").click()
    shown = page.get_by_label("The link, shown only now")
    expect(shown).to_have_value(re.compile("/join/"))
    viewer.goto(shown.input_value())
    viewer.get_by_label("Username").fill("grace")
    viewer.get_by_label("Your name").fill("Grace Hopper")
    viewer.get_by_label("Password").fill(PASSWORD)
    viewer.get_by_role("button", name="Create account and join").click()
    viewer.wait_for_url("**/projects/**")


def expect_only_reading(viewer: Page, project: str, task: str) -> None:
    """The pages have nothing to change the task by, and the API refuses the changes."""
    for name in ("Edit", "Rename", "Write with AI", "Answer", "Stop", "Delete"):
        expect(viewer.get_by_role("button", name=name, exact=True)).to_have_count(0)
    expect(viewer.get_by_role("combobox")).to_have_count(0)
    expect(viewer.locator("paca-task").get_by_role("textbox")).to_have_count(0)
    api = f"/api/v1/projects/{id_of(project)}/tasks/{task}/"
    token = viewer.locator("meta[name=csrf-token]").get_attribute("content") or ""
    changes = {
        "patch": (api, {"title": "Mine"}),
        "post": (f"{api}comments/", {"text": "Mine"}),
        "delete": (api, {}),
    }
    for method, (path, body) in changes.items():
        answer = getattr(viewer.request, method)(path, data=body, headers={"X-CSRFToken": token})
        assert answer.status == 403, f"{method} {path}: {answer.status} {answer.text()}"


def test_agent_is_hired_works_on_its_task_and_goes_on_when_it_is_mentioned(
    client: ApiClient, browsers: Browsers, model: ModelServer, pictures: Path
) -> None:
    page, viewer = browsers.page(), browsers.page()
    sign_in(page)
    project = create_project(page, "Harbor")
    hire(page, project, model)
    invite_viewer(page, project, viewer)
    model.script(
        [
            calls(("read_task", {"task": "HARB-1"})),
            calls(bash="echo 'First line' > notes.txt && wc -l notes.txt"),
            calls(("update_task", {"task": "HARB-1", "status": "In review"})),
            says("The notes are written: **one line** in notes.txt."),
            calls(bash="echo 'Second line' >> notes.txt && cat notes.txt"),
            says("Now the notes have two lines."),
        ]
    )

    page.goto(f"{project}board/")
    viewer.goto(f"{project}board/")
    create(page, TITLE).get_by_role("link").click()
    page.wait_for_url("**/tasks/1/")
    expect(viewer.locator(".kcard")).to_contain_text(TITLE)
    viewer.get_by_role("link", name=TITLE).click()
    expect(viewer.get_by_role("heading", name=TITLE)).to_be_visible()
    page.get_by_label("Assign a member").select_option(label="Rosa (agent)")
    for each in (page, viewer):
        expect(each.locator(".comment")).to_contain_text("The notes are written")
        expect(each.locator(".timeline")).to_contain_text("In review")
    expect(viewer.locator(".task-side")).to_contain_text("In review")
    expect_only_reading(viewer, project, "1")

    page.get_by_role("combobox", name="Comment").fill("@rosa Please add a second line.")
    page.keyboard.press("Control+Enter")
    for each in (page, viewer):
        expect(each.locator(".comment").last).to_contain_text("Now the notes have two lines.")
        expect(each.locator(".comment")).to_have_count(3)
    viewer.screenshot(path=pictures / "teammates-viewer.png")

    outputs = outputs_of(client, project)
    assert any(TITLE in each for each in outputs), "the agent has not read its task"
    assert any("First line\nSecond line" in each for each in outputs), "another workspace"
    viewer.goto(f"{project}board/")
    expect(viewer.locator(".column[aria-label='In review']")).to_contain_text(TITLE)
    expect(viewer.get_by_role("button", name=re.compile("Add a task|New task"))).to_have_count(0)
    assert model.violations == []


def outputs_of(client: ApiClient, project: str) -> list[str]:
    """What the tools of the project's only conversation gave back."""
    base = f"/projects/{id_of(project)}/conversations/"
    (conversation,) = client.api("GET", base)["results"]
    events = client.api("GET", f"{base}{conversation['id']}/events/?limit=200")["results"]
    return [each["data"]["output"] for each in events if each["type"] == "agent.tool.returned"]
