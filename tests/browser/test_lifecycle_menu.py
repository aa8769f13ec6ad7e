"""The menu of a conversation pauses, starts over and deletes; a run that ends in the background is told."""

import re

from playwright.sync_api import Page, expect

from tests.browser import actions
from tests.browser.held_model import HeldModel, vera
from tests.support.model_script import says

__all__ = ["vera"]

HIDE = """
  window.hiddenNow = false;
  Object.defineProperty(document, "hidden", { get: () => window.hiddenNow });
  window.hide = (value) => {
    window.hiddenNow = value;
    document.dispatchEvent(new Event("visibilitychange"));
  };
  window.shown = [];
  window.Notification = class {
    static permission = "default";
    static async requestPermission() { return (this.permission = "granted"); }
    constructor(title, { body }) { window.shown.push([title, body]); }
  };
"""


def pause(page: Page, vera: HeldModel) -> None:
    """Pause the run while its model is asked."""
    actions.wait_until(page, "running")
    press(page, "Pause after this step")
    expect(page.locator(".topbar .pill")).to_contain_text("Pausing")
    vera.let_go()
    actions.wait_until(page, "paused")


def press(page: Page, item: str) -> None:
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name=item).click()


def test_conversation_is_paused_started_over_and_deleted_from_its_menu(
    page: Page, vera: HeldModel
) -> None:
    first = vera.start(page)
    pause(page, vera)
    expect(page.get_by_text("Paused by admin.")).to_be_visible()
    press(page, "Start over")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    dialog.get_by_role("button", name="Start over").click()
    page.wait_for_url(lambda url: "/conversations/" in url and url != first)
    field = page.get_by_role("textbox", name="Message")
    expect(field).to_be_focused()
    expect(page.locator(".flow > [data-key]")).to_have_count(0)
    page.goto(first)
    actions.wait_until(page, "stopped")
    press(page, "Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url(re.compile(r"/conversations/$"))
    expect(page.locator(f'a[href*="{first.rstrip("/").rsplit("/", 1)[1]}"]')).to_have_count(0)


def test_conversation_is_archived_and_comes_back_with_the_next_message(page: Page) -> None:
    address = actions.start(page)
    actions.wait_until(page, "finished")
    press(page, "Archive")
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("files in its sandbox are removed for good")
    asked.get_by_role("button", name="Archive").click()
    expect(page.locator(".topbar .badge")).to_have_text("Archived")
    link = page.locator(f'.narrow a[href*="{address.rstrip("/").rsplit("/", 1)[1]}"]')
    page.get_by_role("link", name="Conversations").first.click()
    expect(page.get_by_role("heading", name="Conversations", exact=True)).to_be_visible()
    expect(link).to_have_count(0)
    page.get_by_role("link", name="Archive", exact=True).click()
    link.first.click()
    expect(page.locator(".topbar .badge")).to_have_text("Archived")
    actions.write(page, "Look around again.")
    expect(page.locator(".topbar .badge")).to_have_count(0)
    actions.wait_until(page, "finished")


def test_palette_runs_the_commands_of_the_page(page: Page) -> None:
    actions.start(page)
    actions.wait_until(page, "finished")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("rena")
    expect(page.locator("#palette-list [aria-selected=true] bdi")).to_have_text("Rename")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("keyboard")
    page.get_by_role("option", name="Keyboard").click()
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()


def test_run_that_ends_in_the_background_is_told_in_title_and_icon_and_by_a_wanted_notification(
    page: Page, vera: HeldModel
) -> None:
    page.add_init_script(HIDE)
    vera.reply = says("That is all.")
    vera.start(page)
    actions.wait_until(page, "running")
    page.evaluate("hide(true)")
    vera.let_go()
    expect(page).to_have_title(re.compile("^Done · Look around"))
    icon = page.locator("link[rel=icon]")
    expect(icon).to_have_attribute("href", re.compile("favicon-ended"))
    assert page.evaluate("shown") == []
    page.evaluate("hide(false)")
    expect(page).to_have_title(re.compile("^Look around"))
    expect(icon).not_to_have_attribute("href", re.compile("favicon-ended"))
    page.get_by_role("button", name="Notify me").click()
    expect(page.get_by_text("ended while you were away")).to_have_count(0)
    vera.hold()
    actions.write(page, "Look around once more.")
    actions.wait_until(page, "running")
    page.evaluate("hide(true)")
    vera.let_go()
    expect(page).to_have_title(re.compile("^Done"))
    assert page.evaluate("shown")[0][0] == "Vera: Done"


def test_words_typed_beside_the_composer_reach_it_and_single_letters_stay_shortcuts(
    page: Page,
) -> None:
    page.clock.install()
    address = actions.start(page)
    actions.wait_until(page, "finished")
    page.locator("h1").click()
    with actions.stopped_clock(page):
        page.keyboard.type("can you also")
    field = page.get_by_role("textbox", name="Message")
    expect(field).to_have_value("can you also")
    assert page.url == address
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    page.wait_for_url("**/?new")


def test_buttons_of_a_notice_are_below_its_text_on_a_narrow_page(
    page: Page, vera: HeldModel
) -> None:
    vera.start(page)
    pause(page, vera)
    page.set_viewport_size({"width": 320, "height": 700})
    notice = page.locator(".notice-hold").last
    expect(notice).to_be_visible()
    text = notice.locator("> div").bounding_box()
    button = notice.get_by_role("button", name="Continue").bounding_box()
    assert text["width"] > 180
    assert button["y"] >= text["y"] + text["height"]
    actions.has_no_sideways_scroll(page)
