"""A board with all its cards loaded, in a browser: how a test and the bench open it, and how a card is dragged on it."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

STEPS = 40  # of the wheel, and of the mouse between two places
# The page asks for fifty cards a column and then for more; this loads them all at once, also when it loads again.
LOAD_ALL = """async () => {
  const { data } = document.querySelector("paca-board");
  const load = data.load.bind(data);
  data.load = () => load(new Map([["limit", "200"]]));
  await data.load();
}"""
FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"


def open_whole(page: Page, project: str, cards: int) -> None:
    page.goto(f"/projects/{project}/board/")
    expect(page.locator(".kcard").first).to_be_visible()
    page.evaluate(LOAD_ALL)
    # A column that a card was moved to shows one less than it has.
    page.wait_for_function(
        f"() => document.querySelectorAll('.kcard').length > {cards - 5}", polling="raf"
    )
    page.evaluate(FRAME)


def point_at_a_column(page: Page) -> None:
    """Put the mouse where the wheel scrolls the first column."""
    box = page.locator(".column-body").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 60, box["y"] + 200)


def pick_up_a_card(page: Page, column: int) -> tuple[str, list[Callable[[], None]]]:
    """Press the mouse on a card of the first column. Gives its title, and the steps that drag it to the column."""
    card = page.locator(".column").first.locator(".kcard").nth(3)
    title = card.get_by_role("link").inner_text()
    start, target = card.bounding_box(), page.locator(".column").nth(column).bounding_box()
    assert start
    assert target
    x, y = start["x"] + 20, start["y"] + 20
    across, down = target["x"] + 80 - x, target["y"] + target["height"] - 20 - y
    page.mouse.move(x, y)
    page.mouse.down()

    def move(part: float) -> Callable[[], None]:
        return lambda: page.mouse.move(x + across * part, y + down * part)

    return title, [move((n + 1) / STEPS) for n in range(STEPS)]
