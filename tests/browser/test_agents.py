"""The list of agents: its filters are links, work by keyboard, and fit a phone."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_accessibility import violations
from tests.browser.test_appearance import LOOKS
from tests.browser.test_check_ins import PHONE


@pytest.fixture
def crew(product: Product) -> Iterator[None]:
    run(product, "hire")
    yield
    run(product, "retire")


def run(product: Product, function: str) -> None:
    code = f"from tests.browser import agents_seed; agents_seed.{function}()"
    done = product.installation.run("shell", "-c", code)
    assert done.returncode == 0, done.stderr


def test_agents_are_filtered_sorted_and_sought(
    crew: None, open_browser: Callable[..., BrowserContext], pictures: Path
) -> None:
    page = open_browser(**LOOKS["desktop-light"]).new_page()
    page.goto("/")
    page.goto(f"{page.url.rstrip('/')}/agents/")
    names = page.locator(".agent-cols tbody b")
    expect(names).to_have_count(6)
    page.screenshot(path=pictures / "agents.png")
    page.locator("summary", has_text="Filter").press("Enter")
    page.screenshot(path=pictures / "agents-filter.png")
    page.get_by_role("link", name="billing 2").click()
    expect(names).to_have_text(["Rosa", "Theo"])
    page.locator("summary", has_text="Filter").click()
    page.get_by_role("link", name="Engineering 1").click()
    expect(names).to_have_text(["Rosa"])
    assert violations(page) == []
    page.screenshot(path=pictures / "agents-chosen.png")
    page.get_by_role("link", name="#billing Remove this filter").click()
    page.get_by_label("Find an agent").fill("zebra")
    page.get_by_label("Find an agent").press("Enter")
    expect(page.locator(".empty")).to_contain_text("No agent matches")
    page.screenshot(path=pictures / "agents-none.png")
    page.get_by_role("link", name="Show all 6").click()
    page.locator("summary", has_text="Sort").click()
    page.get_by_role("link", name="Priority").click()
    expect(names.first).to_have_text("Rosa")
    small = open_browser(**PHONE).new_page()
    small.goto(f"{page.url.split('?')[0]}?tag=release&tag=billing")
    small.locator("summary", has_text="Filter").click()
    actions.has_no_sideways_scroll(small)
    assert violations(small) == []
    small.screenshot(path=pictures / "agents-phone.png", full_page=True)
