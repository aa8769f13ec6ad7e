"""The memory of a project and of an agent: people add, accept, refuse, change, pin and delete entries."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import PageWatcher, Product
from tests.browser.test_accessibility import violations
from tests.browser.test_appearance import LOOKS
from tests.browser.test_rows import made, open_it

PHONE = {**LOOKS["phone-dark"], "viewport": {"width": 320, "height": 720}}


def open_memory(page: Page) -> str:
    """Open the memory of the project by the keyboard; gives the address."""
    page.goto("/")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_url("**/memory/")
    return page.url


def test_entries_are_added_decided_changed_pinned_and_deleted(
    open_browser: Callable[..., BrowserContext],
    product: Product,
    watched: PageWatcher,
    pictures: Path,
) -> None:
    page = open_browser(**LOOKS["desktop-light"]).new_page()
    of_project = open_memory(page)
    expect(page.locator(".empty")).to_contain_text("Nothing is remembered yet")
    page.screenshot(path=pictures / "memory-empty.png")
    field = page.get_by_label("What shall be remembered")
    field.fill("Main is protected.")
    page.get_by_role("button", name="Add", exact=True).click()
    row = page.locator("details", has_text="Main is protected.").first
    expect(row).to_be_visible()
    page.locator("summary", has_text="Add an entry").click()
    field.fill("MAIN is protected")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".form-error")).to_contain_text("has an entry of the same text")
    watched.leave_out(409)

    open_it(page, made(product, "noted", "memory_seed"))
    expect(page.locator("paca-conversation")).to_contain_text(
        "Noted for itself, if a person accepts it: Tests run with make check."
    )
    page.screenshot(path=pictures / "memory-conversation.png")
    page.goto(of_project)
    expect(page.locator("#waiting article")).to_have_count(1)
    page.screenshot(path=pictures / "memory-project.png", full_page=True)
    page.locator(".rowlist a[href$='/memory/']", has_text="Guide").click()
    waiting = page.locator("#waiting article")
    expect(waiting).to_have_count(2)
    of_agent = page.url
    page.screenshot(path=pictures / "memory-agent.png", full_page=True)
    small = open_browser(**PHONE).new_page()
    for address in (of_agent, of_project):
        small.goto(address)
        small.wait_for_load_state("networkidle")
        actions.has_no_sideways_scroll(small)
        assert violations(small) == []
    small.goto(of_agent)
    small.locator("summary", has_text="The port is 80.").click()
    small.screenshot(path=pictures / "memory-phone.png", full_page=True)

    waiting.filter(has_text="make check").get_by_role("button", name="Accept").click()
    expect(page.locator("details", has_text="make check").first).to_contain_text("checked by")
    waiting.filter(has_text="8000").get_by_role("button", name="Refuse").click()
    expect(page.locator("#waiting")).to_have_count(0)
    row = page.locator("details.role", has_text="The port is 80.").first
    row.locator("summary").click()
    row.get_by_label("Text").fill("The port is 8080.")
    row.get_by_role("button", name="Save").click()
    row = page.locator("details.role", has_text="The port is 8080.").first
    expect(row.locator("summary")).to_be_focused()  # a form that was sent is folded, and not lost
    row.locator("summary").click()
    row.get_by_role("button", name="Pin").click()
    expect(row.locator(".badge")).to_have_text("Pinned")
    assert violations(page) == []
    if row.get_attribute("open") is None:  # it may be open again, where the focus was
        row.locator("summary").click()
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)
    page.goto(of_project)
    page.get_by_label("What becomes of it").select_option("off")
    expect(page.locator("main")).to_contain_text("Nothing is noted")
    page.get_by_label("What becomes of it").select_option("ask")
    expect(page.locator("main")).to_contain_text("Waits below")
