"""The background commands above the composer: live, stopped, ended, on a phone, in the dark."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_rows import DISPATCH, made, open_it
from tests.browser.test_todo import STILL


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_background_commands_are_shown_stopped_and_told_when_they_end(
    open_browser: Callable[..., BrowserContext], product: Product, theme: str
) -> None:
    page = open_browser(color_scheme=theme).new_page()
    open_it(page, made(product, "conversation", "background_seed"))
    strip = page.get_by_role("region", name="Background commands")
    expect(strip.get_by_text("2 running in the background")).to_be_visible()
    expect(strip.locator("paca-since").first).to_have_text(re.compile(r"\d:\d\d"))
    expect(strip.get_by_text("Serving HTTP on")).to_be_visible()
    expect(strip).to_contain_text("U+202E")
    page.screenshot(path=product.pictures / f"background-{theme}.png")
    call_id = (strip.locator("li", has_text="bg1").get_attribute("id") or "").partition("-")[2]
    at = page.evaluate("new Date().toISOString()")
    data = {"call_id": call_id, "output": "GET /index.html 200\n", "seconds": 3.0}
    frame = {"type": "agent.background.progressed", "seq": None, "at": at, "source": "agent"}
    page.evaluate(DISPATCH, [{**frame, "turn": None, "data": data}])
    expect(strip.get_by_text("GET /index.html 200")).to_be_visible()
    strip.get_by_role("button", name="Stop bg1").click()
    expect(strip.get_by_text("Stopping…")).to_be_visible()
    page.set_viewport_size({"width": 320, "height": 700})
    page.wait_for_function(STILL)
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=product.pictures / f"background-phone-{theme}.png")
    made(product, "end_all", "background_seed")
    expect(strip.get_by_text("Background commands have ended")).to_be_visible()
    expect(strip.get_by_text("Exit code 2")).to_be_visible()
    expect(strip.get_by_text("Stopped by admin")).to_be_visible()
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=product.pictures / f"background-ended-phone-{theme}.png")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.screenshot(path=product.pictures / f"background-ended-{theme}.png")
    strip.get_by_role("button", name="Close").click()
    expect(strip).not_to_be_visible()
    expect(
        page.get_by_text("bg1 (python3 -m http.server 8000) was stopped by admin")
    ).to_be_visible()
