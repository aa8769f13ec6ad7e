"""The menu of a conversation removes its files after a confirmation."""

from playwright.sync_api import Page, expect

from tests.browser import actions

REMOVED = "Sandbox and files removed"
SWEPT_MS = 40_000  # a worker looks for what is to be removed every ten seconds


def press_remove(page: Page) -> None:
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Remove files").click()


def test_files_are_removed_when_confirmed_and_only_then(page: Page) -> None:
    actions.start(page, actions.SMALL_PROGRAM)
    actions.wait_until(page, "finished")
    press_remove(page)
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    actions.write(page, "Look around the sandbox and tell me what is there.")
    actions.wait_until(page, "running")
    actions.wait_until(page, "finished")
    assert REMOVED not in actions.text_of(page)
    press_remove(page)
    page.get_by_role("dialog").get_by_role("button", name="Remove files").click()
    expect(page.get_by_text(REMOVED)).to_be_visible(timeout=SWEPT_MS)
    actions.write(page, "Look around the sandbox and tell me what is there.")
    actions.wait_until(page, "running")
    actions.wait_until(page, "finished")
    page.get_by_role("button", name="More").focus()
