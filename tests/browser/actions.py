"""Actions of a person on the pages."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


@contextmanager
def stopped_clock(page: Page) -> Iterator[None]:
    """What is typed meanwhile is typed at one moment, however slow this machine is. The page has ``clock.install``."""
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 10)
    yield
    page.clock.resume()


def wait_until(page: Page, status: str) -> None:
    """Wait until the page of a conversation shows this status, and its rows: the server's markup has no rows."""
    shown = f".topbar [data-state={status}]"
    page.wait_for_selector(f"paca-conversation:has({shown}):not(:has(.sk-flow))", state="attached")


def wait_until_answered(page: Page, turns: int) -> None:
    """Wait until so many turns have ended. A page that is slow may never show that one runs."""
    expect(page.locator(".turn-end")).to_have_count(turns)


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


def shown(page: Page) -> dict[str, Any]:
    """What the page shows of the conversation: the text of each stored row, the title, the status, the panel."""
    found = page.evaluate(
        """() => {
            const text = element => element?.innerText.replace(/\\s+/g, " ").trim() ?? "";
            const rows = [...document.querySelectorAll(".flow > [data-key]")];
            return {
                rows: rows.map(row => [row.dataset.key, text(row)]),
                title: text(document.querySelector(".topbar h1")),
                state: document.querySelector(".topbar [data-state]")?.dataset.state,
                panel: text(document.querySelector("aside.panel")),
            };
        }"""
    )
    assert isinstance(found, dict)
    return found


def assert_replay_matches(page: Page) -> None:
    """The page that has followed the conversation must show what a page shows that reads its log.

    The conversation is idle, and no row is folded or opened by hand.
    """
    followed = shown(page)
    page.reload()
    page.wait_for_selector(".flow > [data-key]")
    wait_until(page, followed["state"])
    page.wait_for_function(
        "count => document.querySelectorAll('.flow > [data-key]').length >= count",
        arg=len(followed["rows"]),
    )
    assert shown(page) == followed


def has_no_sideways_scroll(page: Page) -> None:
    width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0, f"{width} px too wide"


def expect_title(page: Page, title: str) -> None:
    expect(page).to_have_title(re.compile(re.escape(title)))
