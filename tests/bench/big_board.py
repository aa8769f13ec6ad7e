"""What the main thread of a page computes at most in one step on a board with a thousand cards, and on a small one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

from tests.bench.figures import Figure
from tests.browser.big_board import FRAME, STEPS, open_whole, pick_up_a_card, point_at_a_column
from tests.browser.conftest import Product, launch, sign_in, started_product

CARDS, FEW = 1000, 200
ROUNDS = 3
COLUMNS = (0, 3)  # a card is dragged within its column, and to another one
AT_MOST_MS = 100  # a longer task of the main thread is felt


def scroll(folder: Path) -> Figure:
    return _figure(folder, "board-scroll", _scrolled, "scrolls a column by the wheel")


def drag(folder: Path) -> Figure:
    return _figure(folder, "board-drag", _dragged, "drags a card with the mouse")


def drop(folder: Path) -> Figure:
    return _figure(folder, "board-drop", _dropped, "drops a card in a column")


def _figure(folder: Path, name: str, measure: Callable[[Page], float], step: str) -> Figure:
    with _boards(folder) as open_board:
        ours, few = (
            median(measure(open_board(cards)) for _ in range(ROUNDS)) for cards in (CARDS, FEW)
        )
    what = f"the longest step, of the main thread's own time, while somebody {step}: {CARDS} cards against {FEW}"
    return Figure(name, ours * 1000, few * 1000, "ms", what, at_most=AT_MOST_MS)


@contextmanager
def _boards(folder: Path) -> Iterator[Callable[[int], Page]]:
    """Opens the board of a project with this many cards."""
    folder.mkdir(parents=True)
    with started_product(folder, folder) as product, sync_playwright() as playwright:
        browser = launch(playwright)
        context = browser.new_context(
            base_url=product.url,
            storage_state=sign_in(product, browser),
            viewport={"width": 1440, "height": 900},
        )
        projects = {cards: _project(product, cards) for cards in (CARDS, FEW)}
        page = context.new_page()

        def opened(cards: int) -> Page:
            open_whole(page, projects[cards], cards)
            return page

        yield opened
        browser.close()


def _project(product: Product, cards: int) -> str:
    code = f"from tests.browser import seed; print(seed.big_board({cards}, '{cards} cards'))"
    found = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", product.seeds.run(code))
    assert found
    return found[0]


def _scrolled(page: Page) -> float:
    point_at_a_column(page)
    return _longest(page, [partial(page.mouse.wheel, 0, 400)] * STEPS)


def _dragged(page: Page) -> float:
    return max(_drag(page, column)[0] for column in COLUMNS)


def _dropped(page: Page) -> float:
    return max(_drag(page, column)[1] for column in COLUMNS)


def _drag(page: Page, column: int) -> tuple[float, float]:
    """The longest step of the way to the column, and the drop."""
    _, steps = pick_up_a_card(page, column)
    # There, back and there again: what the first pass compiles is no cost of a thousand cards.
    way = min(_longest(page, way) for way in (steps, steps[::-1], steps))
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        return way, _longest(page, [page.mouse.up])


def _longest(page: Page, steps: Iterable[Callable[[], None]]) -> float:
    """Seconds that the main thread computes at most in one step and its frame; no task of the step computes longer.

    Time in which other processes have the core does not count.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def computed() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(float(each["value"]) for each in metrics if each["name"] == "TaskDuration")

    longest = 0.0
    for step in steps:
        before = computed()
        step()
        page.evaluate(FRAME)
        longest = max(longest, computed() - before)
    session.detach()
    return longest
