"""The developer view of a conversation: calls in time, requests and replies, raw events, in every look."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_accessibility import violations
from tests.browser.test_appearance import LOOKS
from tests.browser.test_rows import made, open_it

LOOKS_OF_TRACE = {
    "light": LOOKS["desktop-light"],
    "dark": LOOKS["desktop-dark"],
    "phone": {**LOOKS["phone-dark"], "viewport": {"width": 320, "height": 720}},
}


@pytest.fixture(scope="module")
def traced(product: Product) -> str:
    """A conversation whose second turn is traced."""
    return made(product, "conversation", "trace_seed")


def open_trace(page: Page) -> Locator:
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Trace").click()
    dialog = page.get_by_role("dialog", name="Trace")
    expect(dialog.locator("rect").first).to_be_attached()
    return dialog


@pytest.mark.parametrize("look", LOOKS_OF_TRACE)
def test_trace_shows_calls_in_time_and_what_was_sent(
    open_browser: Callable[..., BrowserContext],
    product: Product,
    traced: str,
    look: str,
    pictures: Path,
) -> None:
    page = open_browser(**LOOKS_OF_TRACE[look]).new_page()
    open_it(page, traced)
    dialog = open_trace(page)
    expect(dialog).to_contain_text("8 model calls, 7 tool calls")
    expect(dialog).to_contain_text("Requests and replies are kept for 30 days")
    expect(dialog.get_by_role("heading", name=re.compile("Turn [12]"))).to_have_count(2)
    actions.has_no_sideways_scroll(page)
    assert violations(page) == [], look
    page.screenshot(path=pictures / f"trace-{look}.png")
    newest = dialog.locator(".trace-call").last
    newest.click()
    expect(dialog.get_by_role("heading", name="Request")).to_be_visible()
    expect(dialog).to_contain_text("req_1")
    dialog.locator("summary", has_text="7 user").click()
    expect(dialog.locator("details[open] pre")).to_contain_text("6: <b>quokka</b>")
    assert "\u202e" not in dialog.inner_text(), "a hidden sign is shown, not obeyed"
    actions.has_no_sideways_scroll(page)
    assert violations(page) == [], look
    page.screenshot(path=pictures / f"trace-{look}-call.png")
    dialog.locator(".trace-call").first.click()
    expect(dialog).to_contain_text("Its request and its reply were not kept")
    dialog.get_by_role("button", name="Events").click()
    expect(dialog.locator("details").first).to_be_visible()
    dialog.get_by_label("Type").select_option("agent.flags.changed")
    expect(dialog.locator("summary").filter(has_not_text="agent.flags.changed")).to_have_count(0)
    dialog.locator("summary").last.click()  # the oldest: other tests switch it too
    expect(dialog.locator("details[open] pre")).to_contain_text('"tracing": true')
    assert violations(page) == [], look
    page.screenshot(path=pictures / f"trace-{look}-events.png")


def test_trace_is_used_by_keyboard_alone(
    open_browser: Callable[..., BrowserContext], product: Product, traced: str
) -> None:
    page = open_browser().new_page()
    open_it(page, traced)
    more = page.get_by_role("button", name="More")
    more.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    entry = page.get_by_role("menuitem", name="Trace")
    while not entry.evaluate("item => item === document.activeElement"):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Trace")
    call = dialog.locator(".trace-call").last
    expect(call).to_be_visible()
    call.focus()
    page.keyboard.press("Enter")
    expect(call).to_have_attribute("aria-expanded", "true")
    expect(dialog.get_by_role("heading", name="Reply")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(more).to_be_focused()


def test_trace_is_switched_and_downloaded_from_its_window(
    open_browser: Callable[..., BrowserContext], product: Product, traced: str
) -> None:
    page = open_browser().new_page()
    open_it(page, traced)
    dialog = open_trace(page)
    switch = dialog.get_by_role("switch")
    expect(switch).to_be_checked()
    switch.click()
    expect(dialog).to_contain_text("Requests and replies are not kept")
    expect(page.locator(".flow")).to_contain_text("switched the trace off")
    switch.click()
    expect(dialog).to_contain_text("are kept for 30 days")
    with page.expect_download() as waiting:
        dialog.get_by_role("link", name="Trace as JSON").click()
    found = json.loads(Path(waiting.value.path()).read_text())
    assert len(found["calls"]) == 4
    with page.expect_download() as waiting:
        dialog.get_by_role("link", name="Spans for OpenTelemetry").click()
    assert "resourceSpans" in json.loads(Path(waiting.value.path()).read_text())
