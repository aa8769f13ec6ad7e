"""A board with a thousand cards scrolls, and its cards are dragged; how long that takes is a figure of the bench."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.big_board import STEPS, open_whole, pick_up_a_card, point_at_a_column
from tests.browser.conftest import Product

CARDS = 1000


def seed(product: Product, call: str) -> str:
    return product.seeds.run(f"from tests.browser import seed; print(seed.{call})")


@pytest.fixture(scope="module")
def project(product: Product) -> Iterator[str]:
    """A project with a thousand tasks. Other tests expect that the demo project is the only one."""
    found = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", seed(product, f"big_board({CARDS})"))
    assert found
    yield found[0]
    seed(product, f"delete_project('{found[0]}')")


@pytest.fixture
def board(page: Page, project: str) -> Page:
    open_whole(page, project, CARDS)
    return page


def test_big_board_scrolls(board: Page) -> None:
    point_at_a_column(board)
    for _ in range(STEPS):
        board.mouse.wheel(0, 400)
    body = board.locator(".column-body").first.element_handle()
    board.wait_for_function("(each) => each.scrollTop > 2000", arg=body, polling="raf")


@pytest.mark.parametrize("column", [0, 3])
def test_card_of_a_big_board_is_dragged_to_a_column(board: Page, column: int) -> None:
    title, steps = pick_up_a_card(board, column)
    for step in steps:
        step()
    with board.expect_response(lambda answer: answer.request.method == "PATCH") as stored:
        board.mouse.up()
    assert stored.value.ok
    place = board.locator(".column").nth(column)
    expect(place.locator(".kcard").filter(has_text=title)).to_have_count(1)
