"""The lanes of a team above the composer: who works, who is idle, and a teammate that is stopped."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_rows import made, open_it
from tests.browser.test_todo import STILL


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lanes_show_who_works_who_is_idle_and_stop_one(
    open_browser: Callable[..., BrowserContext], product: Product, theme: str
) -> None:
    page = open_browser(color_scheme=theme).new_page()
    open_it(page, made(product, "conversation", "teams_seed"))
    lanes = page.get_by_role("region", name="Helpers")
    expect(lanes.get_by_text("1 of 2 teammates at work")).to_be_visible()
    expect(lanes.get_by_text("bash · make test")).to_be_visible()
    expect(lanes.get_by_text("Idle · The docs are read.")).to_be_visible()
    expect(lanes).to_contain_text("U+202E")
    page.wait_for_function(STILL)
    page.screenshot(path=product.pictures / f"team-{theme}.png")
    page.set_viewport_size({"width": 320, "height": 700})
    page.wait_for_function(STILL)
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=product.pictures / f"team-phone-{theme}.png")
    page.set_viewport_size({"width": 1280, "height": 800})
    lanes.get_by_role("button", name="Stop the teammate: ann").click()
    expect(lanes.get_by_text("Stopping…")).to_be_visible()
    lanes.locator("li", has_text="ann").get_by_role("link").click()
    expect(page).to_have_url(re.compile("/conversations/"))
    made(product, "end_runs_of_nobody")


def test_team_of_a_lead_that_has_answered_is_shown_below_a_long_log_and_stopped_at_once(
    open_browser: Callable[..., BrowserContext], product: Product
) -> None:
    page = open_browser().new_page()
    open_it(page, made(product, "answered", "teams_seed"))
    lanes = page.get_by_role("region", name="Helpers")
    expect(lanes.get_by_text("1 of 2 teammates at work")).to_be_visible()
    lanes.get_by_role("button", name="Stop all").click()
    expect(lanes.get_by_text("Ended · stopped")).to_be_visible()
    made(product, "end_runs_of_nobody")
