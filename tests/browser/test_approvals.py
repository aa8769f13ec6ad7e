"""An agent asks before it runs a command; a person decides by keyboard from the inbox, and in the conversation."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.actions import (
    SMALL_PROGRAM,
    assert_replay_matches,
    has_no_sideways_scroll,
    start,
    wait_until,
)
from tests.browser.conftest import Product


def settings_of_the_agent(page: Page) -> str:
    """The address of the agent's settings."""
    page.goto("/")
    page.goto(page.get_by_role("link", name="Agents").first.get_attribute("href") or "")
    page.locator("main").get_by_role("link", name=re.compile("Guide")).first.click()
    return page.get_by_role("link", name="Settings").last.get_attribute("href") or ""


def choose_policy(page: Page, settings: str, value: str) -> None:
    """Choose in the settings of the agent when it asks, and save them."""
    page.goto(settings)
    choice = page.locator("select[name=approval]")
    choice.select_option(value)
    with page.expect_navigation():  # the page is loaded again once it is saved
        page.get_by_role("button", name="Save changes").click()
    expect(choice).to_have_value(value)


@pytest.fixture
def asking(page: Page) -> Iterator[Page]:
    settings = settings_of_the_agent(page)
    choose_policy(page, settings, "unsafe")
    yield page
    choose_policy(page, settings, "auto")


def test_person_approves_from_the_inbox_by_keyboard(asking: Page, product: Product) -> None:
    page = asking
    url = start(page, SMALL_PROGRAM)
    wait_until(page, "waiting")
    card = page.locator("paca-ask")
    expect(card.get_by_role("heading")).to_have_text("Guide wants to run a command")
    expect(card.get_by_label("Command", exact=True)).to_have_text("python3 primes.py")
    page.screenshot(path=product.pictures / "approval.png")

    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url("**/inbox/")
    needs = page.get_by_role("region", name="Needs you")
    expect(needs.get_by_label("Command", exact=True)).to_have_text("python3 primes.py")
    page.screenshot(path=product.pictures / "inbox-approval.png")
    page.set_viewport_size({"width": 320, "height": 700})
    has_no_sideways_scroll(page)
    page.wait_for_function(
        "() => document.getAnimations().every((each) => each.effect.getTiming().iterations === Infinity)"
    )
    page.screenshot(path=product.pictures / "inbox-approval-phone.png")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function("() => document.querySelector('paca-ask').wasSeen(performance.now())")
    page.keyboard.press("a")
    expect(needs.get_by_role("button", name="Deny", exact=True)).to_be_hidden()

    page.goto(url)
    expect(page.locator(".flow").get_by_text("Approved by")).to_be_visible()
    wait_until(page, "waiting")
    expect(page.locator("paca-ask").get_by_label("Command", exact=True)).to_contain_text("1000000")
    page.locator("paca-ask").get_by_role("button", name="Deny and say why").click()
    page.keyboard.type("That takes too long.")
    page.keyboard.press("Enter")
    expect(page.locator(".flow").get_by_text("That takes too long.").first).to_be_visible()
    wait_until(page, "finished")
    assert_replay_matches(page)


def test_approval_of_the_rest_is_shown_and_taken_back(asking: Page, product: Product) -> None:
    page = asking
    page.emulate_media(color_scheme="dark")
    start(page, SMALL_PROGRAM)
    wait_until(page, "waiting")
    page.screenshot(path=product.pictures / "approval-dark.png")
    page.get_by_role("button", name="Other approvals").click()
    page.screenshot(path=product.pictures / "approval-menu-dark.png")
    page.get_by_role("menuitem", name="Approve the rest").click()
    wait_until(page, "finished")
    expect(page.get_by_text("approved the rest.")).to_be_visible()
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_text("approved the rest.")).to_be_hidden()
    assert_replay_matches(page)
