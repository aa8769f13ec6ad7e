"""A parked conversation: the page says why, and a person retries or stops it."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser import actions
from tests.browser.conftest import Product


@pytest.fixture
def parked(page: Page, product: Product) -> Page:
    code = "from tests.browser.seed import parked_conversation; print(parked_conversation())"
    conversation = product.seeds.run(code).strip()
    page.goto("/")
    page.goto(f"{page.url}conversations/{conversation}/")
    actions.wait_until(page, "paused")
    return page


def test_parked_conversation_says_why_and_continues_when_retried(
    parked: Page, product: Product
) -> None:
    notice = parked.locator(".flow [data-key]", has_text="Parked:")
    expect(notice).to_contain_text("3 times in a row")
    parked.screenshot(path=product.pictures / "parked-desktop.png")
    notice.get_by_role("button", name="Try again").click()
    actions.wait_until(parked, "finished")
    expect(notice.get_by_role("button")).to_have_count(0)


def test_parked_conversation_can_be_stopped_and_takes_new_messages(parked: Page) -> None:
    parked.get_by_role("button", name="Stop").click()
    actions.wait_until(parked, "stopped")
    actions.write(parked, "Look around the sandbox and tell me what is there.")
    actions.wait_until(parked, "finished")
    actions.assert_replay_matches(parked)
