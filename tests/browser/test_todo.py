"""The agent's to-do list beside the conversation: live, after a reload, by keyboard, on a phone, in the dark."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_rows import DISPATCH, made, open_it

STILL = "() => document.getAnimations().every((each) => each.effect.getTiming().iterations === Infinity)"


def states(page: Page) -> list[str]:
    return [row.get_attribute("class") or "" for row in page.locator(".todo li").all()]


def next_frame(page: Page, kind: str, ahead: int = 1, **data: object) -> dict:
    seq = page.evaluate("document.querySelector('paca-conversation').run.seq")
    at = page.evaluate("new Date().toISOString()")
    return {"type": f"agent.{kind}", "seq": seq + ahead, "at": at, "source": "agent", "turn": 1, "data": data}  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_list_is_beside_the_flow_and_a_tab_on_a_phone(
    open_browser: Callable[..., BrowserContext], product: Product, theme: str
) -> None:
    page = open_browser(color_scheme=theme).new_page()
    open_it(page, made(product, "conversation", "todo_seed"))
    panel = page.get_by_role("complementary", name="To-do list")
    expect(panel.get_by_text("3 of 6")).to_be_visible()
    assert states(page) == ["done", "done", "done", "now", "open", "open"]
    expect(panel).to_contain_text("U+202E")
    started = next_frame(page, "conversation.started", model="demo/guide", demo=True)
    page.evaluate(DISPATCH, [started])
    expect(panel.locator(".now paca-since")).to_have_text(re.compile(r"\d:\d\d"))
    page.screenshot(path=product.pictures / f"todo-{theme}.png")
    page.evaluate(DISPATCH, [next_frame(page, "conversation.waiting", reason="approval")])
    expect(panel.locator(".now use")).to_have_attribute("href", re.compile("#hand$"))
    page.screenshot(path=product.pictures / f"todo-waiting-{theme}.png")
    page.keyboard.press("]")
    expect(panel).not_to_be_visible()
    page.keyboard.press("]")
    expect(panel).to_be_visible()
    page.set_viewport_size({"width": 320, "height": 700})
    page.wait_for_function(STILL)
    actions.has_no_sideways_scroll(page)
    expect(panel).not_to_be_visible()
    page.screenshot(path=product.pictures / f"todo-phone-flow-{theme}.png")
    page.get_by_role("button", name="To do 3/6").click()
    expect(panel).to_be_visible()
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=product.pictures / f"todo-phone-{theme}.png")
    page.get_by_role("button", name="Conversation", exact=True).click()
    expect(page.get_by_text("Invoice totals are one cent off").last).to_be_visible()


def test_list_appears_and_ticks_live_and_an_empty_panel_says_so(
    page: Page, product: Product
) -> None:
    open_it(page, made(product, "without", "todo_seed"))
    panel = page.get_by_role("complementary", name="To-do list")
    expect(panel).not_to_be_visible()
    page.get_by_role("button", name="To-do list").click()
    expect(panel.get_by_text("No to-do list yet.")).to_be_visible()
    page.screenshot(path=product.pictures / "todo-empty.png")
    items = [{"text": "Look", "state": "now"}, {"text": "Mend", "state": "open"}]
    page.evaluate(DISPATCH, [next_frame(page, "todo.changed", items=items, since="")])
    expect(panel.get_by_text("0 of 2")).to_be_visible()
    items[0]["state"], items[1]["state"] = "done", "now"
    page.evaluate(DISPATCH, [next_frame(page, "todo.changed", items=items, since="")])
    expect(panel.get_by_text("1 of 2")).to_be_visible()
    assert states(page) == ["done", "now"]
    page.evaluate(DISPATCH, [next_frame(page, "todo.changed", items=[], since="")])
    expect(panel.get_by_text("No to-do list yet.")).to_be_visible()
