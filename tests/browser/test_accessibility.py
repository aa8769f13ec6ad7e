"""axe finds no violation on any page, in both themes and on the phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page

from scripts.vendor_js import FOR_TESTS
from tests.browser import actions
from tests.browser.test_appearance import LOOKS

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# The style guide shows one page's parts many times: its landmarks and titles repeat on purpose.
ALLOWED_ON_THE_SHEET = {"landmark-unique", "landmark-no-duplicate-banner", "heading-order",
                        "page-has-heading-one", "landmark-banner-is-top-level", "duplicate-id-aria"}  # fmt: skip


def violations(page: Page) -> list[str]:
    """Each violated rule, with the first elements that violate it."""
    page.evaluate((FOR_TESTS / "axe-core" / "axe.js").read_text())
    found = page.evaluate(
        "(tags) => axe.run(document, { runOnly: { type: 'tag', values: tags } })"
        ".then(({ violations }) => violations.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html)]))",
        RULES,
    )
    return [f"{rule}: {nodes}" for rule, nodes in found]


@pytest.mark.parametrize("name", LOOKS)
def test_axe_finds_nothing_on_any_page(
    open_browser: Callable[..., BrowserContext], name: str
) -> None:
    page = open_browser(**LOOKS[name]).new_page()
    conversation = actions.start(page, actions.SMALL_PROGRAM)
    assert violations(page) == [], "while it works"
    actions.wait_until(page, "finished")
    page.keyboard.press("e")
    assert violations(page) == [], "the conversation"
    project = conversation.split("/conversations/")[0]
    for path in (
        *("/", "/agents/", "/conversations/", "/board/", "/board/?view=list", "/docs/", "/team/"),
        *("/inbox/", "/agents/new/", "/settings/", "/usage/"),
    ):
        page.goto(project + path)
        page.wait_for_load_state("networkidle")
        assert violations(page) == [], path
    page.goto("/projects/")
    assert violations(page) == [], "the projects"
    actions.has_no_sideways_scroll(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_state_of_any_component(
    open_browser: Callable[..., BrowserContext], scheme: str
) -> None:
    page = open_browser(color_scheme=scheme).new_page()
    page.goto("/styleguide/")
    page.wait_for_load_state("networkidle")
    found = [each for each in violations(page) if each.split(":")[0] not in ALLOWED_ON_THE_SHEET]
    assert found == []


def test_axe_finds_nothing_on_the_sign_in_page(chromium, product) -> None:
    page = chromium.new_page()
    page.goto(f"{product.url}/accounts/login/")
    assert violations(page) == []
    page.close()


def test_live_region_announces_a_finished_block_once(
    open_browser: Callable[..., BrowserContext],
) -> None:
    page = open_browser().new_page()
    page.add_init_script(
        "addEventListener('DOMContentLoaded', () => { window.said = [];"
        " new MutationObserver(() => said.push(document.getElementById('live').textContent))"
        ".observe(document.getElementById('live'), { childList: true, characterData: true, subtree: true }); });"
    )
    page.clock.install()
    actions.start(page, actions.SMALL_PROGRAM)
    actions.wait_until(page, "finished")
    page.clock.run_for(2500)
    said = page.evaluate("said")
    assert 1 <= len(said) <= 10
    assert all(each.startswith("Guide: ") for each in said)
    assert said[-1].startswith("Guide: I wrote")


def test_rows_are_not_announced_while_they_grow(
    open_browser: Callable[..., BrowserContext],
) -> None:
    page = open_browser().new_page()
    actions.start(page)
    flow = page.get_by_role("log")
    assert flow.get_attribute("aria-live") == "off"
    actions.wait_until(page, "finished")
