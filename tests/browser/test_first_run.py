"""The first minutes with Paca: one-time link, prompt, answer, reload, Stop."""

import re
from collections.abc import Callable

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import PASSWORD, Product
from tests.browser.held_model import HeldModel, vera
from tests.support.model_script import fails, says

__all__ = ["vera"]


def test_person_signs_in_sends_a_prompt_and_watches_a_command_run(
    page: Page, product: Product
) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", name="Guide is ready")).to_be_visible()
    page.screenshot(path=product.pictures / "overview-light.png")
    actions.start(page)
    card = page.locator("details.tool", has_text="uname")
    expect(card).to_be_visible()
    actions.wait_until(page, "finished")
    card.locator("summary").click()
    expect(card.locator("pre")).to_contain_text("/workspace")
    expect(page.locator(".prose .code").first).to_contain_text("/workspace")
    page.screenshot(path=product.pictures / "conversation-light.png")


def test_answer_is_shown_while_it_is_written_also_after_a_reload(
    page: Page, vera: HeldModel, product: Product
) -> None:
    vera.reply = fails("stall")  # its first words come, and no others
    vera.let_go()
    vera.start(page)
    written = page.locator(".prose.is-writing")
    expect(written).to_contain_text("Let me look at that")
    page.screenshot(path=product.pictures / "conversation-writing-light.png")
    page.reload()
    expect(written).to_contain_text("Let me look at that")
    page.get_by_role("button", name="Stop").click()
    actions.wait_until(page, "stopped")
    expect(written).to_have_count(0)


def test_reload_during_an_answer_loses_and_repeats_nothing(page: Page) -> None:
    actions.start(page, actions.SMALL_PROGRAM)
    expect(page.locator(".prose").last).to_contain_text(re.compile(".{40}", re.DOTALL))
    before = page.locator(".prose").last.inner_text()
    page.reload()
    page.wait_for_selector(".flow > [data-key]")
    expect(page.locator(".flow")).to_contain_text(before[:40])
    actions.wait_until(page, "finished")
    seen = actions.stored_rows(page)
    assert len(seen) == len(set(seen))
    text = actions.text_of(page)
    page.reload()
    actions.wait_until(page, "finished")
    page.wait_for_selector(".flow > [data-key]")
    assert actions.stored_rows(page) == seen
    assert text.count("Now I run it.") == actions.text_of(page).count("Now I run it.") == 1


def test_two_tabs_show_the_same_conversation(open_browser: Callable[..., BrowserContext]) -> None:
    context = open_browser()
    one = context.new_page()
    address = actions.start(one, actions.SMALL_PROGRAM)
    other = context.new_page()
    other.goto(address)
    actions.wait_until(one, "finished")
    actions.wait_until(other, "finished")
    assert actions.stored_rows(one) == actions.stored_rows(other)
    assert actions.text_of(one).count("It works.") == actions.text_of(other).count("It works.") == 1


def test_stop_button_stops_the_agent_at_once_and_offers_to_continue(page: Page) -> None:
    actions.start(page, actions.FIX_A_BUG)
    expect(page.locator(".prose").first).to_be_visible()
    page.keyboard.press("Escape")
    actions.wait_until(page, "stopped")
    expect(page.locator(".divider")).to_contain_text("Stopped by admin")
    page.get_by_role("button", name="Continue").click()
    actions.wait_until(page, "finished")
    actions.assert_replay_matches(page)


def test_message_sent_while_the_agent_works_is_queued_and_answered(
    page: Page, vera: HeldModel
) -> None:
    vera.reply = says("That is all.")
    vera.start(page)
    actions.wait_until(page, "running")
    actions.write(page, "And tell me what is there.")
    expect(page.locator(".queue li")).to_contain_text("And tell me")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    vera.let_go()
    expect(page.locator(".queue")).to_have_count(0)
    expect(page.locator(".prose", has_text="That is all.")).to_have_count(2)
    actions.wait_until(page, "finished")
    assert actions.text_of(page).count("And tell me what is there.") == 1
    actions.assert_replay_matches(page)


def test_interrupt_starts_a_new_turn_with_the_message(page: Page) -> None:
    actions.start(page, actions.FIX_A_BUG)
    expect(page.locator(".prose").first).to_be_visible()
    page.get_by_role("textbox", name="Message").fill(
        "Look around the sandbox and tell me what is there."
    )
    page.get_by_role("button", name="Queue, or interrupt now").click()
    page.get_by_role("menuitem", name="Interrupt now").click()
    expect(page.locator(".divider", has_text="Interrupted by admin")).to_be_visible()
    # The interrupt may come before or after the first file is written.
    expect(page.locator(".prose .code").last).to_contain_text(re.compile("entr|folder is empty"))
    actions.wait_until(page, "finished")
    actions.assert_replay_matches(page)


def test_conversation_is_renamed_found_and_exported(page: Page) -> None:
    actions.start(page)
    actions.wait_until(page, "finished")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_role("textbox", name="Title").fill("A walk through <b>the</b> sandbox")
    page.keyboard.press("Enter")
    expect(page.locator(".topbar h1")).to_have_text("A walk through <b>the</b> sandbox")
    actions.expect_title(page, "A walk through")
    page.get_by_role("button", name="More").click()
    with page.expect_download() as markdown:
        page.get_by_role("menuitem", name="Export as Markdown").click()
    assert "the sandbox" in markdown.value.path().read_text()
    page.keyboard.press("/")
    page.wait_for_url("**/conversations/#search")
    page.get_by_role("searchbox").fill("walk through")
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(1)


def test_sign_in_with_a_password(chromium: Browser, product: Product, signed_in: dict) -> None:
    context = chromium.new_context(base_url=product.url)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").first).to_contain_text("not correct")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/projects/**")
    page.get_by_role("button", name="Account").click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.wait_for_url("**/accounts/login/**")
    context.close()
