"""A running Paca as `make run` starts it, and a Chromium whose console errors fail the test."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from tests.browser.seed_process import SeedProcess
from tests.installation.manage_process import ROOT, Installation
from tests.support import migrated_database

PASSWORD = "a long password 7"
FLAGS = ("--no-sandbox", "--disable-background-networking", "--disable-component-update")
# Chromium without the windows and services of a desktop browser: the same engine for a third of the processor time.
EXECUTABLES = ("chromium-headless-shell", "chromium")
WAIT_MS = 20_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass
class Product:
    """A started Paca: its address, the folder for screenshots, and ``seeds``, which write into its database."""

    url: str
    link: str
    pictures: Path
    installation: Installation
    seeds: SeedProcess


@pytest.fixture(scope="session")
def pictures() -> Path:
    folder = Path(os.environ.get("PACA_PICTURES", ROOT / "artifacts"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def migrated_installation(folder: Path) -> Installation:
    """An installation that was never started, with the tables of its database: to make them takes 20 seconds of CPU."""
    data = folder / "data"
    data.mkdir(mode=0o700)
    migrated_database.copy_to(data / "paca.sqlite3")
    return Installation(data)


@contextmanager
def started_product(folder: Path, pictures: Path) -> Iterator[Product]:
    installation = migrated_installation(folder)
    seeds = SeedProcess(installation)
    try:
        running = installation.up()
        url = f"http://127.0.0.1:{running.port}"
        link = re.search(r"(/link/\S+)", running.output)
        assert link, running.output
        yield Product(url, url + link[1], pictures, installation, seeds)
    finally:
        seeds.end()
        installation.end()


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory, pictures: Path) -> Iterator[Product]:
    with started_product(tmp_path_factory.mktemp("browser"), pictures) as started:
        yield started


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as started:
        yield started


def launch(playwright: Playwright) -> Browser:
    """The browser of ``TEST_CHROMIUM``, or the lightest one that is there."""
    names = (os.environ["TEST_CHROMIUM"],) if "TEST_CHROMIUM" in os.environ else EXECUTABLES
    path = next(filter(None, map(shutil.which, names)), "/usr/bin/chromium")
    return playwright.chromium.launch(executable_path=path, args=[*FLAGS])


@pytest.fixture(scope="session")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    browser = launch(playwright)
    yield browser
    browser.close()


@dataclass
class PageWatcher:
    """The problems of a page: console errors, exceptions, refused and failed requests."""

    problems: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.problems.append(f"exception: {error}"))
        page.on("response", self._answered)

    def leave_out(self, status: int | str) -> None:
        """Leave out problems with this status or text, which the test itself brings about."""
        self.problems = [each for each in self.problems if str(status) not in each]

    def _said(self, message) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(f"{message.type}: {message.text}")

    def _answered(self, response) -> None:
        if response.status >= 400:
            self.problems.append(f"{response.status}: {response.url}")


@pytest.fixture(scope="session")
def signed_in(product: Product, chromium: Browser) -> dict:
    return sign_in(product, chromium)


def sign_in(product: Product, chromium: Browser) -> dict:
    """The cookies of the admin, who has used the one-time link and chosen a password."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(product.link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{product.url}/projects/**")
    page.goto(f"{product.url}/accounts/password/set/")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password (again)").fill(PASSWORD)
    page.get_by_role("button", name="Set password").click()
    page.wait_for_load_state()
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def watched() -> Iterator[PageWatcher]:
    found = PageWatcher()
    yield found
    assert found.problems == []


@pytest.fixture
def after_pages() -> Iterator[ExitStack]:
    """What a test undoes once its pages are closed: an open page would ask for what is gone."""
    with ExitStack() as undone:
        yield undone


@pytest.fixture
def open_browser(
    chromium: Browser,
    product: Product,
    signed_in: dict,
    watched: PageWatcher,
    after_pages: ExitStack,
) -> Iterator[Callable[..., BrowserContext]]:
    """Opens browsers of the admin. A problem on any of their pages fails the test."""
    opened = []

    def open_with(**options) -> BrowserContext:
        options.setdefault("viewport", {"width": 1440, "height": 900})
        options.setdefault("storage_state", signed_in)
        context = chromium.new_context(base_url=product.url, locale="en-GB", **options)
        context.set_default_timeout(WAIT_MS)
        context.on("page", watched.watch)
        opened.append(context)
        return context

    yield open_with
    for context in opened:
        context.close()


@pytest.fixture
def page(open_browser: Callable[..., BrowserContext]) -> Page:
    return open_browser().new_page()
