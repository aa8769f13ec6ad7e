"""The board and the list: tasks are made, moved by pointer and keyboard, filtered, and live for two people."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser import actions
from tests.browser.test_appearance import LOOKS


@pytest.fixture
def board(page: Page) -> Page:
    """The board of the demo project, with three tasks of its own names."""
    page.goto("/")
    page.locator("[data-go=b]").click()
    expect(page.locator(".column").first).to_be_visible()
    return page


def column(page: Page, name: str) -> Locator:
    return page.locator(f".column[aria-label='{name}']")


def card(page: Page, title: str) -> Locator:
    return page.locator(".kcard").filter(has_text=title)


def create(page: Page, title: str, where: str = "To do") -> Locator:
    page.get_by_role("button", name=f"Add a task to {where}").click()
    field = page.get_by_role("textbox", name=f"Title of the new task in {where}")
    field.fill(title)
    field.press("Enter")
    expect(card(page, title)).to_be_visible()
    field.press("Escape")
    return card(page, title)


def test_task_is_made_in_its_column_and_is_there_after_a_reload(board: Page) -> None:
    create(board, "Write the release notes", "Backlog")
    expect(column(board, "Backlog")).to_contain_text("Write the release notes")
    board.reload()
    expect(column(board, "Backlog")).to_contain_text("Write the release notes")


def test_card_is_dragged_to_another_column(board: Page) -> None:
    dragged = create(board, "Drag me along")
    start, target = dragged.bounding_box(), column(board, "In review").bounding_box()
    assert start
    assert target
    board.mouse.move(start["x"] + 20, start["y"] + 20)
    board.mouse.down()
    board.mouse.move(start["x"] + 60, start["y"] + 40, steps=4)
    board.mouse.move(target["x"] + 80, target["y"] + 80, steps=10)
    with board.expect_response(lambda answer: answer.request.method == "PATCH") as stored:
        board.mouse.up()
    assert stored.value.ok
    board.reload()
    expect(column(board, "In review")).to_contain_text("Drag me along")


def test_card_is_moved_by_the_keyboard_and_a_move_is_taken_back(board: Page) -> None:
    moved = create(board, "Move me by keys")
    moved.focus()
    for key in ("Space", "ArrowRight"):
        board.keyboard.press(key)
    expect(column(board, "In progress")).to_contain_text("Move me by keys")
    expect(board.locator("#alert")).to_contain_text("In progress, place")
    board.keyboard.press("Escape")
    expect(column(board, "To do")).to_contain_text("Move me by keys")
    for key in ("Space", "ArrowRight"):
        board.keyboard.press(key)
    with board.expect_response(lambda answer: answer.request.method == "PATCH") as stored:
        board.keyboard.press("Space")
    assert stored.value.ok
    board.reload()
    expect(column(board, "In progress")).to_contain_text("Move me by keys")


def test_board_follows_what_another_person_does(
    board: Page, open_browser: Callable[..., BrowserContext]
) -> None:
    other = open_browser().new_page()
    other.goto(board.url)
    expect(other.locator(".column").first).to_be_visible()
    create(board, "Seen by both")
    expect(card(other, "Seen by both")).to_be_visible()


def test_filters_are_in_the_address(board: Page) -> None:
    create(board, "A needle in the haystack")
    board.get_by_role("searchbox", name="Find tasks").fill("needle")
    expect(board).to_have_url(re.compile("search=needle"))
    expect(board.locator(".kcard")).to_have_count(1)
    board.reload()
    expect(board.locator(".kcard")).to_have_count(1)
    board.go_back()
    expect(board.get_by_role("searchbox", name="Find tasks")).to_have_value("")


def test_list_changes_many_tasks_at_once(board: Page) -> None:
    create(board, "First of two")
    create(board, "Second of two")
    board.get_by_role("button", name="List").click()
    for title in ("First of two", "Second of two"):
        board.get_by_role("row").filter(has_text=title).get_by_role("checkbox").check()
    board.get_by_label("Set status").select_option(label="Done")
    expect(board.get_by_role("row").filter(has_text="First of two")).to_contain_text("Done")
    expect(board.get_by_role("row").filter(has_text="Second of two")).to_contain_text("Done")


@pytest.mark.parametrize("name", LOOKS)
def test_board_fits_every_screen(
    open_browser: Callable[..., BrowserContext], name: str, pictures
) -> None:
    page = open_browser(**LOOKS[name]).new_page()
    page.goto("/")
    page.goto(page.url + "board/")
    expect(page.locator(".column").first).to_be_visible()
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=pictures / f"board-{name}.png")
