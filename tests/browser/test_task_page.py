"""The page of a task: description, comments with mentions, properties, and two people at once."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import PageWatcher
from tests.browser.test_appearance import LOOKS
from tests.browser.test_board import create

NUMBERS = itertools.count(1)


@pytest.fixture
def task(page: Page) -> Page:
    """The page of a new task."""
    page.goto("/")
    page.locator("[data-go=b]").click()
    expect(page.locator(".column").first).to_be_visible()
    open_new_task(page, "Make the totals right")
    return page


def open_new_task(page: Page, title: str) -> None:
    """Make a task whose title no other test has, and open its page."""
    title = f"{title} {next(NUMBERS)}"
    create(page, title).get_by_role("link").click()
    expect(page.get_by_role("heading", name=title)).to_be_visible()


def describe(page: Page, text: str) -> None:
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Description").fill(text)


def test_description_is_written_and_shown_as_markdown(task: Page) -> None:
    describe(task, "One cent is **missing**.")
    task.keyboard.press("Control+s")
    expect(task.locator(".task-in > .prose strong")).to_have_text("missing")
    task.reload()
    expect(task.locator(".task-in > .prose strong")).to_have_text("missing")


def test_two_people_who_edit_at_once_see_both_texts(
    task: Page, open_browser: Callable[..., BrowserContext], watched
) -> None:
    describe(task, "My version")
    other = open_browser().new_page()
    other.goto(task.url)
    expect(other.get_by_role("button", name="Edit", exact=True)).to_be_visible()
    describe(other, "Their version")
    other.get_by_role("button", name="Save").click()
    expect(other.locator(".task-in > .prose")).to_have_text("Their version")
    task.get_by_role("button", name="Save").click()
    expect(task.locator(".conflict")).to_contain_text("My version")
    expect(task.locator(".conflict")).to_contain_text("Their version")
    task.get_by_role("button", name="Save my version").click()
    expect(task.locator(".task-in > .prose")).to_have_text("My version")
    watched.leave_out(412)


def test_words_that_are_not_saved_outlast_a_reload(task: Page) -> None:
    describe(task, "Half a thought")
    task.reload()
    expect(task.get_by_label("Description")).to_have_value("Half a thought")


def test_comment_mentions_a_member_by_keyboard(task: Page) -> None:
    field = task.get_by_role("combobox", name="Comment")
    field.press_sequentially("Please look, @gui")
    expect(task.get_by_role("option", name="@guide")).to_be_visible()
    field.press("Enter")
    expect(field).to_have_value("Please look, @guide ")
    field.press("Control+Enter")
    expect(task.locator(".comment").first).to_contain_text("Please look, @guide")


def test_comment_is_answered_edited_and_deleted(task: Page) -> None:
    task.get_by_role("combobox", name="Comment").fill("First")
    task.keyboard.press("Control+Enter")
    comment = task.locator(".comment").filter(has_text="First")
    comment.get_by_role("button", name="Answer").click()
    task.get_by_role("combobox", name="Answer").fill("Second")
    task.keyboard.press("Control+Enter")
    expect(task.locator(".sub-flow .comment")).to_contain_text("Second")
    task.locator(".sub-flow .comment").get_by_role("button", name="Edit").click()
    task.get_by_role("combobox", name="Edit the comment").fill("Second thought")
    task.keyboard.press("Control+Enter")
    expect(task.locator(".sub-flow .comment")).to_contain_text("Second thought")
    expect(task.locator(".sub-flow .comment")).to_contain_text("edited")
    task.locator(".sub-flow .comment").get_by_role("button", name="Delete").click()
    task.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(task.locator(".timeline")).not_to_contain_text("Second thought")


def test_properties_are_stored_at_once_and_told_on_the_timeline(task: Page) -> None:
    task.get_by_label("Priority", exact=True).select_option("high")
    expect(task.locator(".timeline")).to_contain_text("set priority to")
    task.get_by_label("Add a label").fill("billing")
    task.get_by_label("Add a label").press("Enter")
    expect(task.locator(".task-side")).to_contain_text("billing")
    task.reload()
    expect(task.get_by_label("Priority", exact=True)).to_have_value("high")


def test_agent_that_is_assigned_works_and_answers_on_the_timeline(task: Page) -> None:
    task.get_by_label("Assign a member").select_option(label="Guide (agent)")
    expect(task.locator(".run")).to_be_visible()
    expect(task.locator(".comment").filter(has_text="Agent")).to_be_visible(timeout=60_000)
    expect(task.locator(".run-said")).to_contain_text("Guide said last: ")


def test_file_is_attached_downloaded_and_removed(task: Page) -> None:
    file = {"name": "totals Ä.csv", "mimeType": "text/csv", "buffer": b"a;b\n1;2\n"}
    task.locator("input[type=file]").set_input_files(file)
    link = task.get_by_role("link", name="totals Ä.csv")
    expect(link).to_be_visible()
    with task.expect_download() as download:
        link.click()
    assert Path(download.value.path()).read_bytes() == file["buffer"]
    task.get_by_role("button", name="Remove totals Ä.csv").click()
    task.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(link).to_be_hidden()


def test_parent_and_blockers_are_found_by_key_or_title_and_a_circle_is_refused(
    task: Page, watched
) -> None:
    here, key = task.url, task.locator(".crumbs .num").inner_text()
    task.locator("[data-go=b]").click()
    open_new_task(task, "Below the totals")
    below = task.locator(".crumbs .num").inner_text()
    side = task.locator(".task-side")
    task.get_by_role("combobox", name="Set the parent").fill(key.lower())
    expect(task.locator(".picker-list [role=option]")).to_have_count(1)
    task.keyboard.press("Enter")
    expect(side.get_by_role("link", name=key)).to_be_visible()
    task.get_by_role("combobox", name="Add a task that blocks").fill("totals right")
    task.locator(".picker-list [role=option]").filter(has_text=key).click()
    expect(side.get_by_role("link", name=key)).to_have_count(2)
    task.get_by_role("button", name=f"No longer below {key}").press("Enter")
    expect(task.get_by_role("combobox", name="Set the parent")).to_be_focused()
    expect(side.get_by_role("link", name=key)).to_have_count(1)
    task.goto(here)
    field = task.get_by_role("combobox", name="Add a task that blocks")
    field.fill(below)
    task.locator(".picker-list [role=option]").click()
    expect(side.locator(".field-error")).to_contain_text(f"{below} waits for this task itself")
    expect(field).to_have_attribute("aria-invalid", "true")
    watched.leave_out(400)


def test_subtasks_are_added_and_followed_on_the_page_of_their_parent(
    task: Page, open_browser: Callable[..., BrowserContext]
) -> None:
    field = task.get_by_role("textbox", name="New subtask")
    field.fill("Count the cents")
    task.reload()
    expect(field).to_have_value("Count the cents")
    field.press("Enter")
    rows = task.locator(".subtask")
    expect(rows).to_have_text(re.compile("Count the cents"))
    expect(field).to_have_value("")
    expect(field).to_be_focused()
    other = open_browser().new_page()
    other.goto(task.url)
    other.locator(".subtask").get_by_role("link").click()
    expect(other.locator(".task-side")).to_contain_text(task.locator(".crumbs .num").inner_text())
    other.get_by_label("Status").select_option("Done")
    expect(task.locator(".subtasks")).to_contain_text("1 of 1 done")
    other.get_by_role("button", name="No longer below").click()
    expect(rows).to_have_count(0)


def test_deleted_task_is_restored_on_the_board(task: Page, watched: PageWatcher) -> None:
    expect(task.get_by_role("heading", name="Activity")).to_be_visible()
    title = task.get_by_role("heading", level=1).inner_text()
    task.get_by_role("button", name="More").click()
    task.get_by_role("menuitem", name="Delete").click()
    expect(task.get_by_role("dialog")).to_contain_text("is never used again")
    task.get_by_role("dialog").get_by_role("button", name="Delete").click()
    task.wait_for_url("**/board/")
    expect(task.locator(".board-notice")).to_contain_text(title)
    expect(task.locator(".kcard").filter(has_text=title)).to_have_count(0)
    task.get_by_role("button", name="Undo").click()
    expect(task.locator(".kcard").filter(has_text=title)).to_be_focused()
    task.reload()
    expect(task.locator(".kcard").filter(has_text=title)).to_be_visible()
    expect(task.locator(".board-notice")).to_have_count(0)
    watched.leave_out(404)  # its page may hear of the deletion before it goes to the board


@pytest.mark.parametrize("name", LOOKS)
def test_task_fits_every_screen(
    open_browser: Callable[..., BrowserContext], name: str, pictures
) -> None:
    page = open_browser(**LOOKS[name]).new_page()
    page.goto("/")
    page.goto(page.url + "board/")
    open_new_task(page, "Fits every screen")
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=pictures / f"task-{name}.png")
