"""The lanes of helpers above the composer: live, with an approval, stopped, on a phone, in the dark."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_rows import DISPATCH, made, open_it
from tests.browser.test_todo import STILL


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lanes_show_what_helpers_do_ask_for_approvals_and_stop_one(
    open_browser: Callable[..., BrowserContext], product: Product, theme: str
) -> None:
    page = open_browser(color_scheme=theme).new_page()
    open_it(page, made(product, "conversation", "helpers_seed"))
    lanes = page.get_by_role("region", name="Helpers")
    expect(lanes.get_by_text("1 of 3 helpers needs you")).to_be_visible()
    expect(lanes.get_by_text("search_files · round(")).to_be_visible()
    expect(lanes.get_by_text("$0.03").first).to_be_visible()
    expect(lanes).to_contain_text("U+202E")
    expect(lanes.get_by_text("Done")).to_be_visible()
    page.wait_for_function(STILL)
    page.screenshot(path=product.pictures / f"helpers-{theme}.png")
    page.set_viewport_size({"width": 320, "height": 700})
    page.wait_for_function(STILL)
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=product.pictures / f"helpers-phone-{theme}.png")
    page.set_viewport_size({"width": 1280, "height": 800})
    lane = lanes.locator("li", has_text="Find where")
    helper_id = (lane.get_attribute("id") or "").partition("-")[2]
    at = page.evaluate("new Date().toISOString()")
    data = {"subagent_id": helper_id, "status": "running", "activity": "thinking", "seq": 9}
    frame = {"type": "agent.subagent.progressed", "seq": None, "at": at, "turn": None}
    page.evaluate(DISPATCH, [{**frame, "source": f"subagent:{helper_id}", "data": data}])
    expect(lane.get_by_text("Thinking")).to_be_visible()
    lanes.get_by_role("button", name="Deny D").click()
    expect(lanes.get_by_role("button", name="Deny D")).not_to_be_visible()
    lane.get_by_role("button", name="Stop").click()
    expect(lane.get_by_text("Stopping…")).to_be_visible()
    lane.get_by_role("link").click()
    expect(page).to_have_url(re.compile(helper_id))
    made(product, "end_runs_of_nobody")
