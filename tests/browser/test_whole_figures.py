"""State, tokens and time of a long run are those of the whole, whatever part of it the page has loaded."""

import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, expect

from tests.browser import actions
from tests.browser.conftest import Product

STEPS = 190
LOADED = "document.querySelector('paca-conversation').run.first"


def seed(product: Product, call: str) -> str:
    return product.seeds.run(f"from tests.browser import seed; print(seed.{call})")


def shows_the_whole(page: Page, state: str) -> None:
    expect(page.locator(f".topbar .pill[data-state={state}]")).to_be_visible()
    expect(page.get_by_title("Used by the whole conversation")).to_have_text("190,000 tokens")


def test_figures_of_a_long_run_do_not_depend_on_what_is_loaded(
    page: Page, product: Product
) -> None:
    found = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", seed(product, f"long_run({STEPS})"))
    assert found
    page.clock.install(time=datetime.now(UTC) + timedelta(hours=3))  # this computer's is wrong
    page.goto("/")
    page.goto(f"{page.url}conversations/{found[0]}/")
    expect(page.get_by_text(f"Step {STEPS - 1}", exact=True)).to_be_visible()
    newest = page.evaluate(LOADED)
    assert newest > 1
    shows_the_whole(page, "running")
    expect(page.locator(".topbar .pill")).to_have_text(re.compile(r"^Working · \d?\d:\d\d$"))
    scroller = page.locator(".thread-scroll")
    while page.evaluate(LOADED) > 1:
        scroller.evaluate("(s) => s.scrollTo(0, 0)")
        page.wait_for_timeout(50)
        shows_the_whole(page, "running")
    seed(product, f"end_long_run('{found[0]}')")
    actions.wait_until(page, "finished")
    page.reload()
    shows_the_whole(page, "finished")
    end = page.locator(".turn-end").last
    expect(end).to_have_text(re.compile(r"^Done · 190 steps · [\d.:]+( s)? · 190,000 tokens$"))
