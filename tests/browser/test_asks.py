"""Questions, plans and changes of files that wait: answered by keyboard, from the inbox, on a phone, in the dark."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.actions import has_no_sideways_scroll, text_of, wait_until
from tests.browser.conftest import Product
from tests.browser.test_rows import DISPATCH, made, open_it
from tests.browser.test_todo import next_frame, states

SEEN = "() => [...document.querySelectorAll('paca-ask, paca-question, paca-plan')].every((each) => each.wasSeen(performance.now()))"
STILL = "() => document.getAnimations().every((each) => each.effect.getTiming().iterations === Infinity)"


def see_on_a_phone(page: Page, picture: str, product: Product) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    page.wait_for_function(STILL)
    has_no_sideways_scroll(page)
    page.screenshot(path=product.pictures / f"{picture}-phone.png")
    page.set_viewport_size({"width": 1440, "height": 900})


def test_change_of_a_file_shows_its_exact_lines_in_conversation_and_inbox(
    page: Page, product: Product
) -> None:
    conversation = made(product, "edit", "ask_seed")
    open_it(page, conversation)
    wait_until(page, "waiting")
    lines = ["billing/totals.py", "−rest = tax", "+rest = 0  # the last line takes it"]
    card = page.locator("paca-ask")
    expect(card.get_by_role("heading")).to_have_text("Guide wants to change a file")
    shown = card.get_by_label("Changed lines").locator(".diff-in > div")
    expect(shown).to_have_text(lines)
    assert [row.get_attribute("class") for row in shown.all()] == ["hunk", "del", "add"]
    page.screenshot(path=product.pictures / "ask-diff.png")
    see_on_a_phone(page, "ask-diff", product)
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url("**/inbox/")
    needs = page.get_by_role("region", name="Needs you")
    expect(needs.get_by_label("Changed lines").locator(".diff-in > div")).to_have_text(lines)
    page.screenshot(path=product.pictures / "inbox-diff.png")
    page.wait_for_function(SEEN)
    page.keyboard.press("d")
    # The card says so for a moment, then it is gone.
    expect(needs.get_by_label("Changed lines")).to_have_count(0)
    open_it(page, conversation)
    expect(page.locator(".flow").get_by_text("Denied by").first).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_question_is_answered_by_keyboard_and_folds(
    open_browser: Callable[..., BrowserContext], product: Product, theme: str
) -> None:
    page = open_browser(color_scheme=theme).new_page()
    open_it(page, made(product, "question", "ask_seed"))
    card = page.locator("paca-question")
    expect(card.get_by_role("heading")).to_have_text("Guide asks")
    expect(card.get_by_text("Which version comes first in the notes?")).to_be_visible()
    expect(card.get_by_role("radio")).to_have_count(3)
    expect(card).to_contain_text("U+202E")
    page.screenshot(path=product.pictures / f"ask-question-{theme}.png")
    if theme == "dark":
        see_on_a_phone(page, "ask-question-dark", product)
    page.wait_for_function(SEEN)
    page.locator(".thread-scroll").focus()
    page.keyboard.press("1")
    expect(card.get_by_role("radio").first).to_be_checked()
    page.keyboard.press("Enter")
    expect(
        page.locator(".flow").get_by_text("Answered by admin: 2.14, then 2.13.1")
    ).to_be_visible()
    expect(card).to_have_count(0)
    wait_until(page, "finished")
    page.screenshot(path=product.pictures / f"ask-question-answered-{theme}.png")
    page.reload()
    expect(
        page.locator(".flow").get_by_text("Answered by admin: 2.14, then 2.13.1")
    ).to_be_visible()


def test_question_takes_other_words_from_the_inbox(page: Page, product: Product) -> None:
    conversation = made(product, "question", "ask_seed")
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url("**/inbox/")
    needs = page.get_by_role("region", name="Needs you")
    expect(needs.get_by_role("radio")).to_have_count(3)
    page.screenshot(path=product.pictures / "inbox-question.png")
    see_on_a_phone(page, "inbox-question", product)
    page.wait_for_function(SEEN)
    page.keyboard.press("3")
    field = needs.get_by_role("textbox", name="Answer")
    expect(field).to_be_focused()
    page.keyboard.press("Enter")
    expect(needs.get_by_role("alert")).to_have_text("Write an answer first.")
    page.keyboard.type("Only 2.14.")
    page.keyboard.press("Enter")
    expect(needs.get_by_text("Answered by admin: Only 2.14.")).to_be_visible()
    open_it(page, conversation)
    expect(page.locator(".flow").get_by_text("Answered by admin: Only 2.14.")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plan_is_rejected_with_feedback_and_approved_by_keyboard_and_ticks(
    open_browser: Callable[..., BrowserContext], product: Product, theme: str
) -> None:
    page = open_browser(color_scheme=theme).new_page()
    open_it(page, made(product, "plan", "ask_seed"))
    card = page.locator("paca-plan")
    expect(card.get_by_role("heading")).to_have_text("Guide has a plan")
    expect(card.locator(".plan-steps li")).to_have_count(3)
    switch = page.get_by_role("button", name="Plan first")
    expect(switch).to_have_attribute("aria-pressed", "true")
    page.screenshot(path=product.pictures / f"ask-plan-{theme}.png")
    if theme == "dark":
        see_on_a_phone(page, "ask-plan-dark", product)
    page.wait_for_function(SEEN)
    page.locator(".thread-scroll").focus()
    page.keyboard.press("d")
    field = card.get_by_role("textbox", name="What to change")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    page.locator(".thread-scroll").focus()
    page.keyboard.press("a")
    expect(page.locator(".flow").get_by_text("Plan approved by admin")).to_be_visible()
    expect(switch).to_have_attribute("aria-pressed", "false")
    panel = page.get_by_role("complementary", name="Plan and to-do list")
    expect(panel.get_by_text("0 of 3")).to_be_visible()
    wait_until(page, "finished")
    texts = [row.inner_text().split(": ")[-1] for row in panel.locator("li bdi").all()]
    steps = [{"text": text, "state": "open"} for text in texts]
    steps[0]["state"], steps[1]["state"] = "done", "started"
    page.evaluate(
        DISPATCH,
        [next_frame(page, "plan.changed", call_id="c", title="Invoices add up", steps=steps)],
    )
    expect(panel.get_by_text("1 of 3")).to_be_visible()
    assert states(page) == ["done", "now", "open"]
    page.screenshot(path=product.pictures / f"plan-ticks-{theme}.png")


def test_plan_is_rejected_from_the_inbox(page: Page, product: Product) -> None:
    conversation = made(product, "plan", "ask_seed")
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url("**/inbox/")
    needs = page.get_by_role("region", name="Needs you")
    expect(needs.locator("paca-plan")).to_be_visible()
    page.screenshot(path=product.pictures / "inbox-plan.png")
    page.wait_for_function(SEEN)
    page.keyboard.press("d")
    page.keyboard.type("Smaller steps.")
    needs.get_by_role("button", name="Reject", exact=True).click()
    expect(needs.get_by_text("Rejected by admin.")).to_be_visible()
    open_it(page, conversation)
    expect(
        page.locator(".flow").get_by_text("Plan rejected by admin: Smaller steps.")
    ).to_be_visible()


def test_plan_mode_is_switched_in_the_composer(page: Page, product: Product) -> None:
    open_it(page, made(product, "conversation"))
    switch = page.get_by_role("button", name="Plan first")
    expect(switch).to_have_attribute("aria-pressed", "false")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")
    assert "only reads until its plan is approved" in text_of(page)
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "false")
    assert "switched plan mode off" in text_of(page)
    see_on_a_phone(page, "plan-switch", product)
