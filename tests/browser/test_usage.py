"""The page of usage: what a person sees of it, by keyboard, on a phone, in dark mode and as a file."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_accessibility import violations
from tests.browser.test_appearance import LOOKS
from tests.browser.test_big_board import seed

LOOKS_OF_USAGE = {
    "light": LOOKS["desktop-light"],
    "dark": LOOKS["desktop-dark"],
    "phone": {**LOOKS["phone-dark"], "viewport": {"width": 320, "height": 720}},
}


@pytest.fixture(scope="module")
def used(product: Product) -> Iterator[str]:
    """The address of a project with two weeks of usage."""
    found = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", seed(product, "used_project()"))
    assert found
    yield f"/projects/{found[0]}/"
    seed(product, f"delete_project('{found[0]}')")


def figure(page: Page, selector: str) -> float:
    return float(page.locator(f"{selector} data").first.get_attribute("value") or "")


def test_usage_is_seen_by_day_agent_and_model_in_every_look(
    open_browser: Callable[..., BrowserContext], used: str, pictures: Path
) -> None:
    for name, look in LOOKS_OF_USAGE.items():
        page = open_browser(**look).new_page()
        page.goto(f"{used}usage/")
        expect(page.locator(".chart rect").first).to_be_visible()
        actions.has_no_sideways_scroll(page)
        assert violations(page) == [], name
        page.screenshot(path=pictures / f"usage-{name}.png")
        page.locator("table[data-by=model]").scroll_into_view_if_needed()
        page.screenshot(path=pictures / f"usage-{name}-tables.png")
        cells = page.locator("table[data-by=agent] td:nth-of-type(4) data")
        shares = [float(cell.get_attribute("value") or "") for cell in cells.all()]
        assert round(sum(shares), 6) == round(figure(page, "[data-total-cost]"), 6)
        expect(page.locator("[data-unpriced-notice]")).to_contain_text("vllm/qwen3-32b")
        page.goto(f"{used}usage/?from=2001-01-01&to=2001-01-31")
        expect(page.get_by_role("heading", name="No model calls in this period")).to_be_visible()
        assert violations(page) == [], f"{name}, empty"
        page.close()


def test_usage_is_reached_by_keyboard_and_its_period_stays_in_the_address(
    page: Page, used: str
) -> None:
    page.goto(used)
    page.keyboard.press("g")
    page.keyboard.press("u")
    page.wait_for_url("**/usage/")
    all_calls = figure(page, "[data-total-calls]")
    page.get_by_role("link", name="Today").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/usage/?from=*&to=*")
    assert 0 < figure(page, "[data-total-calls]") < all_calls
    expect(page.get_by_role("link", name="Today")).to_have_attribute("aria-current", "true")
    page.reload()
    assert 0 < figure(page, "[data-total-calls]") < all_calls
    page.get_by_text("The numbers of each day").click()
    expect(page.locator("table[data-by=day] tbody tr")).to_have_count(1)
    page.go_back()
    page.get_by_role("link", name="Tokens").click()
    expect(page.get_by_role("heading", name="Tokens per day")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the models as CSV").click()
    lines = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert sum(int(line["calls"]) for line in lines) == all_calls
