"""A conversation of thousands of events opens, scrolls and streams like a short one."""

import pytest
from playwright.sync_api import Page

from tests.browser import actions
from tests.browser.conftest import Product

EVENTS = 3000
MOST_ROWS = 400


@pytest.fixture(scope="module")
def address(product: Product) -> str:
    code = f"from tests.browser.seed import long_conversation; print(long_conversation({EVENTS}))"
    return product.seeds.run(code).strip()


def open_it(page: Page, address: str) -> None:
    page.goto("/")
    page.goto(f"{page.url}conversations/{address}/")
    page.wait_for_selector(".flow > [data-key]")


def first(page: Page) -> int:
    found = page.evaluate("document.querySelector('paca-conversation').run.first")
    assert isinstance(found, int)
    return found


def test_long_conversation_opens_at_its_end_with_one_request(page: Page, address: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: "/events/" in request.url and asked.append(request.url))
    open_it(page, address)
    assert len(asked) == 1
    distance = page.locator(".thread-scroll").evaluate(
        "(s) => s.scrollHeight - s.scrollTop - s.clientHeight"
    )
    assert distance < 50


def test_long_conversation_scrolls_to_its_beginning_and_back_with_few_rows(
    page: Page, address: str
) -> None:
    open_it(page, address)
    scroller = page.locator(".thread-scroll")
    for _ in range(200):
        if first(page) == 1 and page.locator("text=A long way to go").count():
            break
        scroller.evaluate("(s) => s.scrollTo(0, 0)")
        page.wait_for_timeout(60)
        assert len(actions.rows(page)) <= MOST_ROWS + 1
    assert "A long way to go" in actions.text_of(page)
    page.get_by_role("button", name="Jump to the end").click()
    page.wait_for_function(
        "(s) => s.scrollHeight - s.scrollTop - s.clientHeight < 50", arg=scroller.element_handle()
    )
    assert "Question 60" in actions.text_of(page) or len(actions.rows(page)) <= MOST_ROWS


def test_older_rows_do_not_move_the_visible_ones(page: Page, address: str) -> None:
    open_it(page, address)
    moved = page.evaluate(
        """async () => {
          const view = document.querySelector("paca-conversation");
          const scroller = view.querySelector(".thread-scroll");
          const before = view.run.first;
          scroller.scrollTop = 790;
          const top = scroller.getBoundingClientRect().top;
          const row = [...view.querySelectorAll(".flow > [data-key]")]
            .find((each) => each.getBoundingClientRect().bottom > top);
          const at = row.getBoundingClientRect().top;
          while (view.run.first === before) await new Promise(requestAnimationFrame);
          await new Promise((resolve) => setTimeout(resolve, 300));
          return Math.abs(row.getBoundingClientRect().top - at);
        }"""
    )
    assert moved < 2  # browsers round the place they scroll to


def test_streamed_text_costs_little_time_per_frame(page: Page, address: str) -> None:
    open_it(page, address)
    middle = page.evaluate(
        """() => {
          const view = document.querySelector("paca-conversation");
          const times = [];
          for (let index = 0; index < 120; index += 1) {
            const began = performance.now();
            view.store.dispatch({ type: "agent.text.streamed", seq: null, at: new Date().toISOString(),
              data: { call_id: "b", offset: index * 5, text: "word " } });
            view.flush();
            view.offsetHeight;
            times.push(performance.now() - began);
          }
          return times.sort((one, other) => one - other)[60];
        }"""
    )
    # 3 ms on a free core; the bound leaves room for a busy one and none for a restyle of the flow.
    assert middle < 25
