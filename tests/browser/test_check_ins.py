"""The check-ins of an agent: the first one is added as it is, runs by hand and leads to its conversation."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import PageWatcher
from tests.browser.test_accessibility import violations
from tests.browser.test_appearance import LOOKS

PHONE = {**LOOKS["phone-dark"], "viewport": {"width": 320, "height": 720}}


def open_settings(page: Page) -> str:
    """Open the settings of the agent Guide at its check-ins; gives the address."""
    page.goto("/")
    page.goto(f"{page.url.rstrip('/')}/agents/")
    page.locator('a[href*="/settings/"][href*="/agents/"]').first.click()
    page.wait_for_url("**/settings/**")
    address = f"{page.url.split('#')[0]}#check-ins"
    page.goto(address)
    return address


def test_check_in_is_added_as_suggested_run_by_hand_and_switched_off(
    open_browser: Callable[..., BrowserContext], watched: PageWatcher, pictures: Path
) -> None:
    page = open_browser(**LOOKS["desktop-light"]).new_page()
    address = open_settings(page)
    section = page.locator("#check-ins")
    expect(section).to_contain_text("No check-ins yet")
    page.screenshot(path=pictures / "check-ins-empty.png")
    section.get_by_label("Every", exact=True).fill("30")
    section.get_by_role("button", name="Add the check-in").click()
    expect(section.locator(".field-error")).to_contain_text("either an interval or hours")
    watched.leave_out(400)
    section.get_by_label("Every", exact=True).fill("")
    section.get_by_role("button", name="Add the check-in").click()
    row = section.locator("details", has_text="Morning look at the board").first
    expect(row).to_contain_text("Daily at 09:00, Mon Tue Wed Thu Fri, UTC")
    expect(row).to_contain_text("Read-only")
    row.locator("summary").click()
    row.get_by_role("button", name="Run now").click()
    history = section.get_by_role("list", name="History")
    expect(row.locator("summary").first).to_contain_text("last")
    expect(history).to_contain_text("Morning look at the board")
    page.screenshot(path=pictures / "check-ins.png")
    small = open_browser(**PHONE).new_page()
    small.goto(address)
    small.locator("#check-ins details").first.locator("summary").first.click()
    actions.has_no_sideways_scroll(small)
    assert violations(small) == []
    small.locator("#check-ins").scroll_into_view_if_needed()
    small.screenshot(path=pictures / "check-ins-phone.png", full_page=True)
    row.get_by_role("button", name="Switch off").click()
    expect(row.locator("summary").first).to_contain_text("Off")
    history.get_by_role("link").click()
    page.wait_for_url(re.compile("/conversations/"))
    actions.wait_until(page, "finished")
    page.goto(address)
    row.locator("summary").first.click()
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(section).to_contain_text("No check-ins yet")
