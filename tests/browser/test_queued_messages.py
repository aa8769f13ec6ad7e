"""A message that waits for its agent: the page says why, and the author changes it or takes it back."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser import actions
from tests.browser.conftest import Product


def set_status(product: Product, status: str) -> None:
    change = f"Agent.objects.filter(handle='guide').update(status='{status}')"
    product.seeds.run(f"from paca.agents.models import Agent; {change}")


@pytest.fixture
def paused_guide(product: Product) -> Iterator[None]:
    set_status(product, "paused")
    yield
    set_status(product, "active")


@pytest.mark.usefixtures("paused_guide")
def test_message_that_waits_for_a_paused_agent_is_changed_and_taken_back(page: Page) -> None:
    actions.start(page)
    expect(page.locator(".topbar .pill")).to_contain_text("Queued · agent paused")
    expect(page.get_by_text("Waiting: the agent is paused")).to_be_visible()
    expect(page.get_by_text("Needs you")).to_have_count(0)
    queued = page.get_by_role("list", name="Queued messages")
    expect(queued).to_contain_text("will be read when the agent begins")
    page.get_by_role("textbox", name="Message", exact=True).press("ArrowUp")
    editor = page.get_by_role("textbox", name="Queued message")
    expect(editor).to_be_focused()
    editor.fill("Tell me a short story instead.")
    page.reload()
    expect(editor).to_have_value("Tell me a short story instead.")
    editor.press("Enter")
    expect(editor).to_have_count(0)
    expect(page.locator(".bubble")).to_have_text(["Tell me a short story instead."])
    queued.get_by_role("button", name="Take back").click()
    actions.wait_until(page, "stopped")
    expect(page.locator(".bubble")).to_have_count(0)
    expect(queued).to_have_count(0)


@pytest.mark.usefixtures("paused_guide")
def test_composer_sends_its_own_words_while_a_queued_message_is_edited(page: Page) -> None:
    actions.start(page)
    queued = page.get_by_role("list", name="Queued messages")
    expect(queued).to_contain_text("will be read when the agent begins")
    field = page.get_by_role("textbox", name="Message", exact=True)
    field.press("ArrowUp")
    editor = page.get_by_role("textbox", name="Queued message")
    editor.fill("Half a thou")
    field.fill("And the changelog.")
    field.press("Enter")
    expect(field).to_have_value("")
    expect(editor).to_have_value("Half a thou")
    expect(page.locator(".bubble")).to_have_text([re.compile("Look around"), "And the changelog."])
    editor.press("Escape")
    expect(field).to_be_focused()
    expect(field).to_have_value("")
