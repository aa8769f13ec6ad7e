"""Rows of a conversation: every kind is shown, whatever the others hold, live and after a reload."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import actions, row_kinds
from tests.browser.conftest import Product

PHONE = {"width": 320, "height": 700}
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
DISPATCH = """frames => {
  const page = document.querySelector("paca-conversation");
  for (const frame of frames) page.store.dispatch(frame);
}"""


def made(product: Product, function: str, module: str = "row_kinds") -> str:
    """The conversation that the function of the module has made."""
    printed = product.seeds.run(f"from tests.browser import {module}; print({module}.{function}())")
    return printed.strip()


def open_it(page: Page, conversation: str) -> None:
    page.goto("/")
    page.goto(f"{page.url}conversations/{conversation}/")
    page.wait_for_selector(".flow > [data-key]")


def check_rows(page: Page) -> None:
    flow = page.locator(".flow")
    expect(flow.locator("strong", has_text="The end.")).to_be_visible()
    assert "Shown as plain text" not in actions.text_of(page)
    for tool in ("constructor", "toString", "__proto__", "hasOwnProperty"):
        expect(flow.get_by_text(f"Called {tool}")).to_be_attached()
    assert flow.get_by_text("no such tool").count() == 4
    expect(flow.get_by_text("5~10 minutes, at most 20~30")).to_be_visible()
    expect(flow.locator("del")).to_have_text(["not more"])
    expect(flow.locator("a[href='https://example.com/a']")).to_have_text("https://example.com/a")
    expect(flow.locator("a[href='https://example.com/ci']")).to_have_text("CI")
    expect(flow.locator("strong", has_text="「重要」")).to_be_visible()
    expect(flow.get_by_text("\\(e^{i\\pi}_1 = -1\\)")).to_be_visible()
    expect(flow.locator(".formula")).to_contain_text("\\[")
    arabic = flow.locator(".prose p", has_text="مرحبا")
    assert arabic.evaluate("p => getComputedStyle(p).direction") == "rtl"
    assert "U+200F" not in actions.text_of(page)
    assert flow.locator("img").count() == 0


@pytest.fixture(scope="module")
def conversation(product: Product) -> str:
    return made(product, "conversation")


def test_row_of_each_kind_is_shown_and_harms_no_other(
    page: Page, conversation: str, pictures: Path
) -> None:
    open_it(page, conversation)
    check_rows(page)
    assert "What does it do?" in page.locator("h1").inner_text()
    page.reload()
    page.wait_for_selector(".flow > [data-key]")
    check_rows(page)
    page.set_viewport_size(PHONE)
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=str(pictures / "rows-phone.png"), full_page=False)


def test_live_rows_are_shown_and_live_output_follows_its_end(page: Page, conversation: str) -> None:
    open_it(page, conversation)
    expect(page.locator("strong", has_text="The end.")).to_be_visible()
    seq = page.evaluate("document.querySelector('paca-conversation').run.seq")

    def event(number: int, kind: str, **data: object) -> dict:
        return {
            "type": f"agent.{kind}",
            "seq": seq + number,
            "at": "2026-01-01T00:00:00Z",
            "source": "agent",
            "turn": 1,
            "data": data,
        }

    def printed(first: int, last: int) -> dict:
        text = [f"tick {n:04}\n" for n in range(first, last)]
        offset = first * len(text[0])
        frame = event(0, "tool.progressed", call_id="t", offset=offset, text="".join(text))
        return {**frame, "seq": None}

    call = {
        "call_id": "t",
        "tool": "bash",
        "arguments": {"command": {"valueOf": 1}},
        "subject": "x",
    }
    page.evaluate(
        DISPATCH,
        [
            event(1, "conversation.started", model="demo/guide"),
            event(2, "message.spoken", call_id="deep", text=">" * 20_000 + " x"),
            event(
                3,
                "tool.called",
                **{**call, "call_id": "odd", "tool": "__proto__", "arguments": None},
            ),
            event(4, "tool.called", **call),
            event(5, "tool.started", call_id="t", boot_id="b"),
            printed(0, 40),
        ],
    )
    area = page.locator("paca-follow-end[live] pre")
    expect(area).to_contain_text("tick 0039")
    page.evaluate(DISPATCH, [printed(40, 80)])
    expect(area).to_contain_text("tick 0079")
    hidden = "e => e.scrollHeight - e.scrollTop - e.clientHeight"
    page.wait_for_function(f"() => ({hidden})(document.querySelector('paca-follow-end pre')) < 2")
    area.evaluate("e => e.scrollTo(0, 0)")
    page.evaluate(TWO_FRAMES)  # the page hears of the scrolling with a frame
    page.evaluate(DISPATCH, [printed(80, 120)])
    expect(area).to_contain_text("tick 0119")
    assert area.evaluate("e => e.scrollTop") == 0


def test_full_output_is_downloaded_from_its_card(page: Page, product: Product) -> None:
    open_it(page, made(product, "long_output"))
    card = page.locator("summary", has_text="count")
    if not page.get_by_text("Full output, 539 KB").count():
        card.click()
    with page.expect_download() as started:
        page.get_by_text("Full output, 539 KB").click()
    assert Path(started.value.path()).read_bytes() == row_kinds.FULL_OUTPUT
