"""The pages by keyboard: send, open, move, stop, the list of shortcuts, and the focus afterwards."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import actions


def focused_row(page: Page) -> str:
    found = page.evaluate("document.activeElement?.dataset?.key ?? ''")
    assert isinstance(found, str)
    return found


def test_keyboard_leads_from_the_overview_to_an_answer(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("c")
    page.wait_for_url("**/?new")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.keyboard.type("Look around the sandbox and tell me what is there.")
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversations/**")
    actions.wait_until(page, "finished")
    page.keyboard.press(
        "Escape"
    )  # the page of a conversation that was just written begins in its field
    page.keyboard.press("j")
    first = focused_row(page)
    page.keyboard.press("j")
    assert first.startswith("message:")
    assert focused_row(page) != first
    page.keyboard.press("k")
    assert focused_row(page) == first
    page.keyboard.press("i")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Message")).not_to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.wait_for_url("**/agents/")


def test_slash_key_focuses_the_search(page: Page) -> None:
    page.goto("/")
    page.wait_for_url("**/projects/**")
    for _ in range(2):  # from another page, and on the page of the search itself
        page.keyboard.press("/")
        page.wait_for_url("**/conversations/#search")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.locator("h1").click()


def test_e_key_opens_and_closes_all_steps(page: Page) -> None:
    actions.start(page)
    actions.wait_until(page, "finished")
    cards = page.locator("details.tool")
    expect(cards.first).to_be_visible()
    page.keyboard.press("e")
    expect(page.locator("details.tool[open]")).to_have_count(cards.count())
    page.keyboard.press("e")
    expect(page.locator("details.tool[open]")).to_have_count(0)


def test_shortcut_sheet_lists_the_keys_and_switches_letters_off(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard")
    expect(sheet).to_contain_text("New conversation")
    sheet.get_by_role("switch").uncheck()
    page.keyboard.press("Escape")
    expect(sheet).not_to_be_visible()
    page.evaluate(
        "document.querySelector('[data-new]').addEventListener('click', () => { window.followed = true; })"
    )
    page.keyboard.press("c")
    assert page.evaluate("window.followed") is None


def test_typing_triggers_no_shortcut_and_survives_streamed_text(page: Page) -> None:
    actions.start(page, actions.SMALL_PROGRAM)
    field = page.get_by_role("textbox", name="Message")
    field.click()
    text = "a?ce j k i " * 12
    page.keyboard.type(text, delay=8)
    expect(field).to_have_value(text)
    expect(field).to_be_focused()
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_have_value(text)
    actions.wait_until(page, "finished")


def test_menu_opens_with_arrows_and_returns_the_focus(page: Page) -> None:
    actions.start(page)
    actions.wait_until(page, "finished")
    button = page.get_by_role("button", name="More")
    button.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem", name="Remove files")).to_be_focused()
    page.keyboard.press("Escape")
    expect(button).to_be_focused()


def test_scroll_position_stays_and_the_jump_button_counts_new_rows(page: Page) -> None:
    page.set_viewport_size({"width": 1000, "height": 420})
    actions.start(page, actions.SMALL_PROGRAM)
    actions.wait_until(page, "finished")
    scroller = page.locator(".thread-scroll")
    scroller.evaluate("(s) => s.scrollTo(0, 0)")
    expect(page.locator(".jump")).to_have_text("Jump to the end")
    # Another tab of the same person writes meanwhile.
    other = page.context.new_page()
    other.goto(page.url)
    actions.wait_until(other, "finished")
    actions.write(other, "Look around the sandbox and tell me what is there.")
    expect(page.locator(".jump")).to_contain_text("new")
    assert scroller.evaluate("(s) => s.scrollTop") < 5
    page.locator(".jump").click()
    actions.wait_until(page, "finished")
    expect(page.locator(".jump")).to_have_count(0)
    assert scroller.evaluate("(s) => s.scrollHeight - s.scrollTop - s.clientHeight") < 50


@pytest.mark.parametrize("words", ["is it done", "I can also", "in short"])
def test_words_typed_beside_the_composer_keep_their_first_letter(page: Page, words: str) -> None:
    page.clock.install()
    actions.start(page)
    actions.wait_until(page, "finished")
    page.locator(".thread-scroll").focus()
    with actions.stopped_clock(page):
        page.keyboard.type(words)
    expect(page.get_by_role("textbox", name="Message")).to_have_value(words)


HAS_RING = """() => {
  const ring = (style) => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  for (let element = document.activeElement, step = 0; element && step < 3; element = element.parentElement, step += 1) {
    const style = getComputedStyle(element);
    if (ring(style) || (step && style.boxShadow !== "none")) return true;
  }
  return document.activeElement === document.body;
}"""


def tab_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press Tab until the control has the focus. Each control on the way shows that it has it."""
    for _ in range(80):
        page.keyboard.press(key)
        assert page.evaluate(HAS_RING), page.evaluate("document.activeElement.outerHTML")
        if wanted.evaluate_all("found => found.includes(document.activeElement)"):
            return
    raise AssertionError(f"Tab does not reach {wanted}")


def test_task_is_created_assigned_discussed_and_moved_by_keyboard_alone(page: Page) -> None:
    page.goto("/")
    page.goto(page.url + "board/")
    expect(page.locator(".column").first).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_role("textbox", name="Title of the new task in To do")).to_be_focused()
    page.keyboard.type("No pointer was used")
    page.keyboard.press("Enter")
    card = page.locator(".kcard[data-number]").filter(has_text="No pointer was used")
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Add a task to To do")).to_be_focused()
    tab_to(page, card)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
    tab_to(page, page.get_by_label("Assign a member"))
    page.keyboard.type("a")
    unassign = page.get_by_role("button", name="Unassign admin")
    expect(unassign).to_be_visible()
    tab_to(page, page.get_by_role("combobox", name="Comment"), "Shift+Tab")
    page.keyboard.type("Done by keys.")
    page.keyboard.press("Control+Enter")
    comment = page.locator(".comment").filter(has_text="Done by keys.")
    expect(comment).to_be_visible()
    tab_to(page, comment.get_by_role("button", name="Edit"), "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Edit the comment")).to_be_focused()
    page.keyboard.press("Escape")
    expect(comment.get_by_role("button", name="Answer")).to_be_focused()
    tab_to(page, page.locator(".crumbs a"), "Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/board/")
    expect(card).to_be_visible()
    tab_to(page, card)
    for key in ("Space", "ArrowRight"):
        page.keyboard.press(key)
    with page.expect_response(lambda answer: answer.request.method == "PATCH") as stored:
        page.keyboard.press("Space")
    assert stored.value.ok
    expect(page.locator(".column[aria-label='In progress']")).to_contain_text("No pointer was used")
    expect(card).to_be_focused()


@pytest.mark.parametrize("place", ["docs/", "team/", "settings/", "board/?view=list"])
def test_focus_is_seen_on_every_control_of_a_page(page: Page, place: str) -> None:
    page.goto("/")
    page.goto(page.url + place)
    page.wait_for_load_state("networkidle")
    tab_to(page, page.locator("#main :is(a[href], button, input, select, summary):visible").last)
