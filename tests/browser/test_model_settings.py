"""A person gives an agent a fallback and efforts, lends it a key, and chooses the effort of a message."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_accessibility import violations
from tests.browser.test_big_board import seed
from tests.browser.test_usage import LOOKS_OF_USAGE


@pytest.fixture(scope="module")
def project(product: Product) -> Iterator[str]:
    """The address of a project whose agent Rosa has a real model without a key."""
    found = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", seed(product, "project_of_rosa()"))
    assert found
    yield f"/projects/{found[0]}/"
    seed(product, f"delete_project('{found[0]}')")


def open_settings(page: Page, project: str) -> None:
    page.goto(f"{project}agents/")
    page.get_by_role("link", name="Rosa").first.click()
    page.get_by_role("link", name="Settings").last.click()
    expect(page.get_by_role("heading", name="Fallback")).to_be_visible()


def test_fallback_efforts_and_lent_keys_are_set_and_the_composer_offers_the_efforts(
    open_browser: Callable[..., BrowserContext], project: str, pictures: Path
) -> None:
    page = open_browser(**LOOKS_OF_USAGE["light"]).new_page()
    page.goto(f"{project}settings/")
    keys = page.locator("#own-keys")
    keys.get_by_text("Add or replace a key").click()
    keys.get_by_label("Provider").fill("anthropic")
    keys.get_by_label("API key").fill("sk-ant-of-the-person-9876")
    keys.get_by_role("button", name="Store it").click()
    expect(keys.get_by_text("ends in 9876")).to_be_visible()
    assert "sk-ant-of-the-person" not in page.content()
    open_settings(page, project)
    page.get_by_label("Fallback model").fill("openai/gpt-5")
    page.locator("#fallback-url").fill("http://127.0.0.1:9/v1")
    page.get_by_label("API key of the fallback").fill("sk-of-the-fallback-5678")
    page.get_by_label("Efforts").fill('{"quick": {"effort": "low"}, "determined": {"steps": 200}}')
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_label("API key of the fallback")).to_have_attribute(
        "placeholder", "Stored, ends in 5678"
    )
    for name, look in LOOKS_OF_USAGE.items():
        other = open_browser(**look).new_page()
        open_settings(other, project)
        other.get_by_role("heading", name="Fallback").scroll_into_view_if_needed()
        actions.has_no_sideways_scroll(other)
        assert violations(other) == [], name
        other.screenshot(path=pictures / f"fallback-{name}.png")
        other.goto(f"{project}settings/")
        other.locator("#own-keys").scroll_into_view_if_needed()
        actions.has_no_sideways_scroll(other)
        other.screenshot(path=pictures / f"keys-{name}.png")
        other.close()
    page.goto(f"{project}agents/")
    page.get_by_role("link", name="Rosa").first.click()
    effort = page.get_by_label("Effort")
    expect(effort.locator("option")).to_have_text(["Quick", "Standard", "Determined"])
    effort.select_option("determined")
    page.get_by_label("Message", exact=True).fill("Find the leak")
    page.screenshot(path=pictures / "effort-start.png")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".is-person").get_by_text("Determined")).to_be_visible()
    page.set_viewport_size({"width": 320, "height": 720})
    actions.has_no_sideways_scroll(page)
    page.wait_for_function(
        "() => document.getAnimations().every((each) => each.effect.getTiming().iterations === Infinity)"
    )
    page.screenshot(path=pictures / "effort-conversation-320.png")
