"""The menu of a conversation shows the size of its files, and removes them after a confirmation."""

import re

from playwright.sync_api import Page, expect

from tests.browser import actions

SIZE = r"[\d.]+ (bytes|KB|MB) of [\d.]+ (MB|GB)"
REMOVED = "Sandbox and files removed"
SWEPT_MS = 40_000  # a worker looks for what is to be removed every ten seconds


def press_remove(page: Page) -> None:
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Remove files").click()


def test_files_are_removed_when_confirmed_and_only_then(page: Page) -> None:
    actions.start(page, actions.SMALL_PROGRAM)
    actions.wait_until(page, "finished")
    press_remove(page)
    expect(page.get_by_role("dialog")).to_contain_text(re.compile(SIZE))
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="More").click()
    expect(page.get_by_role("menuitem", name=re.compile(f"Remove files.* {SIZE}"))).to_be_visible()
    page.keyboard.press("Escape")
    actions.write(page, "Look around the sandbox and tell me what is there.")
    actions.wait_until_answered(page, 2)
    assert REMOVED not in actions.text_of(page)
    press_remove(page)
    page.get_by_role("dialog").get_by_role("button", name="Remove files").click()
    expect(page.get_by_text(REMOVED)).to_be_visible(timeout=SWEPT_MS)
    actions.write(page, "Look around the sandbox and tell me what is there.")
    actions.wait_until_answered(page, 3)
    page.get_by_role("button", name="More").focus()
