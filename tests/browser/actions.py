"""Actions of a person on the pages."""

import re

from playwright.sync_api import Page, expect

LOOK_AROUND, SMALL_PROGRAM, FIX_A_BUG = range(3)


def start(page: Page, prompt: int = LOOK_AROUND) -> str:
    """Press one of the prompts of the overview; gives the URL of the new conversation."""
    page.goto("/")
    page.locator("[data-prompt]").nth(prompt).click()
    page.wait_for_url("**/conversations/**")
    return page.url


def write(page: Page, text: str) -> None:
    field = page.get_by_role("textbox", name="Message")
    field.fill(text)
    field.press("Enter")


def wait_until(page: Page, status: str) -> None:
    page.wait_for_selector(f".topbar [data-state={status}]", state="attached")


def rows(page: Page) -> list[str]:
    """The keys of the rows in order. Each is there once."""
    found = page.eval_on_selector_all(".flow > [data-key]", "rows => rows.map(r => r.dataset.key)")
    assert isinstance(found, list)
    return found


def stored_rows(page: Page) -> list[str]:
    """The keys of the rows that are not live."""
    return [key for key in rows(page) if key != "now" and not key.startswith("pending:")]


def state(page: Page) -> str:
    return page.locator(".topbar [data-state]").first.get_attribute("data-state") or ""


def text_of(page: Page) -> str:
    return page.locator(".flow").inner_text()


def has_no_sideways_scroll(page: Page) -> None:
    width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0, f"{width} px too wide"


def expect_title(page: Page, title: str) -> None:
    expect(page).to_have_title(re.compile(re.escape(title)))
