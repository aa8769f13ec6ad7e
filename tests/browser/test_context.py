"""How full the model's window is, and the summary that takes the place of what came before."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_rows import made, open_it


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_summary_opens_in_the_flow_and_the_meter_lists_what_fills_the_window(
    open_browser: Callable[..., BrowserContext], product: Product, theme: str
) -> None:
    page = open_browser(color_scheme=theme).new_page()
    open_it(page, made(product, "conversation", "summary_seed"))
    divider = page.get_by_text(re.compile("Summary of what came before"))
    expect(divider).to_contain_text("148,000 to 21,000 tokens")
    words, arrow = (each.bounding_box() for each in (divider, divider.locator("svg")))
    assert words
    assert arrow
    assert words["y"] <= arrow["y"] < words["y"] + words["height"] / 2, "the arrow is on the line"
    divider.click()
    expect(page.get_by_text("Asked:")).to_be_visible()
    meter = page.locator(".context-meter > summary")
    expect(meter).to_have_text(re.compile("10 %|11 %"))
    meter.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Results of tools")).to_be_visible()
    page.screenshot(path=product.pictures / f"context-{theme}.png")
    page.keyboard.press("Escape")
    expect(page.get_by_text("Results of tools")).not_to_be_visible()
    expect(meter).to_be_focused()
    page.set_viewport_size({"width": 320, "height": 700})
    actions.has_no_sideways_scroll(page)
    meter.click()
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=product.pictures / f"context-phone-{theme}.png")
    meter.click()
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Summarise what came before").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox")).to_be_focused()
    dialog.get_by_role("textbox").fill("the totals")
    page.screenshot(path=product.pictures / f"context-dialog-{theme}.png")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("asked for a summary .* “the totals”"))).to_be_visible()
