"""A server that is killed in the middle of a save: when it is back, the page has saved the words, once."""

import os
import re
import signal
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.conftest import migrated_installation
from tests.browser.test_task_page import describe
from tests.installation.manage_process import Installation, Running


class Server:
    """An installation of its own, which comes back at the same address after it was killed."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.running: Running = installation.up()

    def kill(self) -> None:
        self.running.kill()

    def start_again(self) -> None:
        port = str(self.running.port)
        self.running = self.installation.up(PACA_PORT=port)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(migrated_installation(tmp_path_factory.mktemp("killed")))
    yield started
    started.installation.end()


@pytest.fixture(scope="module")
def signed_in(server: Server, chromium: Browser) -> Iterator[BrowserContext]:
    url = f"http://127.0.0.1:{server.running.port}"
    link = re.search(r"(/link/\S+)", server.running.output)
    assert link
    context = chromium.new_context(base_url=url, locale="en-GB")
    page = context.new_page()
    page.goto(link[1])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/projects/**")
    yield context
    context.close()


@pytest.fixture
def task(signed_in: BrowserContext) -> Iterator[Page]:
    project = signed_in.pages[0].url
    page = signed_in.new_page()
    page.goto(f"{project}tasks/1/")
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
    yield page
    page.close()


def test_words_of_a_save_that_never_began_are_stored_once(server: Server, task: Page) -> None:
    before = _changes(task)
    describe(task, "Never begun.")
    os.kill(server.running.process.pid, signal.SIGSTOP)  # the request waits in its socket
    with task.expect_request(lambda request: request.method == "PATCH"):
        task.keyboard.press("Control+s")
    server.kill()
    _comes_back(server, task, "Never begun.")
    assert _changes(task) == before + 1


def test_words_of_a_save_whose_answer_was_lost_are_stored_once(server: Server, task: Page) -> None:
    before = _changes(task)
    describe(task, "Stored, not told.")
    died = threading.Event()

    def store_and_die(route: Route) -> None:
        if route.request.method != "PATCH" or died.is_set():
            route.continue_()
            return
        answer = route.fetch()
        if not answer.ok:  # the page looks at the task again, and repeats its change
            route.fulfill(response=answer)
            return
        died.set()
        server.kill()
        route.abort()

    task.route("**/api/**", store_and_die)
    task.keyboard.press("Control+s")
    _comes_back(server, task, "Stored, not told.")
    assert _changes(task) == before + 1


def _comes_back(server: Server, task: Page, words: str) -> None:
    expect(task.locator(".notice-bad")).to_contain_text("does not answer")
    expect(task.get_by_label("Description")).to_have_value(words)
    server.start_again()
    expect(task.locator(".task-in > .prose")).to_have_text(words)


def _changes(task: Page) -> int:
    """How often the task's description was changed."""
    told = task.request.get(
        re.sub("/projects/(.*)/tasks/1/", r"/api/v1/projects/\1/tasks/1/activity/", task.url)
    )
    fields = [each["field"] for entry in told.json()["results"] for each in entry["changes"]]
    return fields.count("description")
