"""The look of the pages: screenshots, phones, themes, reduced motion, hostile texts."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import Product

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LOOKS = {
    "desktop-light": {"color_scheme": "light"},
    "desktop-dark": {"color_scheme": "dark"},
    "phone-light": {**PHONE, "color_scheme": "light"},
    "phone-dark": {**PHONE, "color_scheme": "dark"},
}


def open_pages(page: Page, product: Product, name: str) -> None:
    """Take a screenshot of each page, and check that none scrolls sideways."""
    conversation = actions.start(page, actions.SMALL_PROGRAM)
    actions.wait_until(page, "finished")
    project = conversation.split("/conversations/")[0]
    addresses = {
        "overview": f"{project}/",
        "agents": f"{project}/agents/",
        "conversations": f"{project}/conversations/",
        "conversation": conversation,
        "missing": f"{product.url}/nowhere/",
        "styleguide": f"{product.url}/styleguide/",
    }
    for title, address in addresses.items():
        page.goto(address)
        page.wait_for_load_state("networkidle")
        actions.has_no_sideways_scroll(page)
        whole = title == "styleguide"
        page.screenshot(path=product.pictures / f"{title}-{name}.png", full_page=whole)


@pytest.mark.parametrize("name", LOOKS)
def test_pages_fit_their_screen_in_every_theme(
    open_browser: Callable[..., BrowserContext], product: Product, watched, name: str
) -> None:
    open_pages(open_browser(**LOOKS[name]).new_page(), product, name)
    # Looking for what is not there is part of this test.
    watched.problems = [
        each for each in watched.problems if "/nowhere/" not in each and "404" not in each
    ]


def test_pages_fit_the_smallest_phone_and_the_largest_letters(
    open_browser: Callable[..., BrowserContext],
) -> None:
    page = open_browser(viewport={"width": 320, "height": 568}).new_page()
    address = actions.start(page)
    actions.wait_until(page, "finished")
    for path in (address, "/styleguide/", address.split("/conversations/")[0] + "/agents/"):
        page.goto(path)
        page.wait_for_load_state("networkidle")
        actions.has_no_sideways_scroll(page)


def test_theme_button_switches_and_keeps_the_theme_without_a_flash(page: Page) -> None:
    page.goto("/")
    root = page.locator("html")
    page.get_by_role("button", name="Switch theme").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload(wait_until="commit")
    expect(root).to_have_attribute("data-theme", "dark")


def test_hostile_texts_are_shown_and_do_nothing(page: Page) -> None:
    page.goto("/styleguide/")
    sample = page.locator("paca-sample[data-rows=hostile]")
    expect(sample).to_contain_text("<img src=x onerror=")
    assert page.title() == "Style guide · Paca"
    assert sample.locator("img, script, iframe, style, svg:not(.icon, .avatar svg)").count() == 0
    links = sample.locator("a").evaluate_all("found => found.map((a) => a.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}
    assert "\u202e" not in sample.inner_text()


def test_image_of_a_result_is_shown_and_a_dead_server_is_named(page: Page) -> None:
    page.goto("/styleguide/")
    card = page.locator("paca-sample[data-rows=tools] details").filter(
        has_text="mcp__browser__screenshot"
    )
    card.first.locator("summary").click()
    image = card.first.get_by_alt_text("Image 1 of the result")
    expect(image).to_be_visible()
    assert image.evaluate("each => each.decode().then(() => each.naturalWidth)") == 1
    expect(page.get_by_text("The MCP server web is unavailable.").first).to_be_attached()


def test_hostile_message_is_inert_on_every_page(page: Page) -> None:
    from_a_person = (
        "<img src=x onerror=\"document.title='broken'\"> **bold** [x](javascript:alert(1))"
    )
    actions.start(page)
    actions.wait_until(page, "finished")
    actions.write(page, from_a_person)
    expect(page.locator(".bubble").last).to_have_text(from_a_person)
    actions.wait_until(page, "finished")
    page.goto(page.url.rsplit("/", 2)[0] + "/")
    assert "broken" not in page.title()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_animations_stop_with_reduced_motion(
    open_browser: Callable[..., BrowserContext], scheme: str
) -> None:
    page = open_browser(reduced_motion="reduce", color_scheme=scheme).new_page()
    page.goto("/styleguide/")
    page.wait_for_load_state("networkidle")
    moving = page.evaluate(
        "document.getAnimations().filter((a) => a.playState === 'running'"
        " && a.effect.getComputedTiming().activeDuration > 1).length"
    )
    assert moving == 0


def test_tool_card_names_its_state_for_screen_readers(page: Page) -> None:
    page.goto("/styleguide/")
    sample = page.locator("paca-sample[data-rows=tools]").first
    names = [
        " ".join(text.split()) for text in sample.locator("summary, .tool-head").all_inner_texts()
    ]
    for wanted in (
        "Run make lint Waiting for its turn",
        "Ran make test 12 s exit 2",
        "Ran pytest -x 1:00 timed out",
        "Ran ./deploy.sh staging 0.4 s Outcome unknown",
        "Did not run docker ps Refused",
    ):
        assert any(wanted.replace(" 0.4 s", "") in name.replace(" 0.4 s", "") for name in names), (
            wanted,
            names,
        )
