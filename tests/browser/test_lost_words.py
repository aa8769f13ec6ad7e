"""Nothing that a person writes on the pages of tasks is lost or stored twice: slow and lost answers, two people at once."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.test_board import card
from tests.browser.test_task_page import describe, open_new_task

Open = Callable[..., BrowserContext]


@pytest.fixture
def board(page: Page) -> Page:
    page.goto("/")
    page.locator("[data-go=b]").click()
    expect(page.locator(".column").first).to_be_visible()
    return page


@pytest.fixture
def task(board: Page) -> Page:
    open_new_task(board, "Nothing is lost")
    return board


@pytest.fixture
def other(task: Page, open_browser: Open) -> Page:
    """The same task in the browser of another person."""
    page = open_browser().new_page()
    page.goto(task.url)
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
    return page


class SlowAnswers:
    """Holds requests of one method until they are let through."""

    def __init__(self, page: Page, method: str) -> None:
        self.held: list[Route] = []
        self._method = method
        page.route("**/api/**", self._hold)

    def _hold(self, route: Route) -> None:
        if route.request.method == self._method:
            self.held.append(route)
        else:
            route.continue_()

    def release(self, page: Page) -> None:
        held, self.held, self._method = self.held, [], ""
        for route in held:
            route.continue_()


def lose_answer(page: Page, method: str) -> threading.Event:
    """The next request of this method reaches the server, and its answer is lost."""
    lost = threading.Event()

    def lose(route: Route) -> None:
        if route.request.method != method or lost.is_set():
            route.continue_()
            return
        lost.set()
        route.fetch()
        route.abort()

    page.route("**/api/**", lose)
    return lost


def change_without_socket(page: Page) -> None:
    """The page learns nothing of others from here on."""
    page.route_web_socket("**/ws/projects/**", lambda socket: None)
    page.reload()
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()


def test_title_that_is_being_written_is_kept_and_shown_beside_another_new_title(
    task: Page, other: Page, watched
) -> None:
    task.get_by_role("button", name="Rename").click()
    task.get_by_role("textbox", name="Title").fill("My title")
    other.get_by_role("button", name="Rename").click()
    other.get_by_role("textbox", name="Title").fill("Their title")
    other.keyboard.press("Enter")
    expect(task.locator(".timeline")).to_contain_text("Their title")
    expect(task.get_by_role("textbox", name="Title")).to_have_value("My title")
    task.keyboard.press("Enter")
    expect(task.locator(".task-in")).to_contain_text("Their title")
    expect(task.get_by_role("textbox", name="Title")).to_have_value("My title")
    task.get_by_role("button", name="Save my version").click()
    expect(task.get_by_role("heading", name="My title")).to_be_visible()
    watched.leave_out(412)


def test_description_is_saved_although_an_agent_or_person_has_changed_something_else(
    task: Page, other: Page, watched
) -> None:
    describe(task, "What is to be done")
    other.get_by_label("Priority", exact=True).select_option("high")
    expect(task.locator(".timeline")).to_contain_text("set priority to")
    task.get_by_role("button", name="Save").click()
    expect(task.locator(".task-in > .prose")).to_have_text("What is to be done")
    watched.leave_out(412)


def test_words_typed_while_a_description_is_saved_stay(task: Page) -> None:
    describe(task, "First.")
    slow = SlowAnswers(task, "PATCH")
    task.keyboard.press("Control+s")
    task.get_by_label("Description").press_sequentially(" Second.")
    slow.release(task)
    expect(task.get_by_role("button", name="Save")).to_be_enabled()
    expect(task.get_by_label("Description")).to_have_value("First. Second.")
    task.get_by_role("button", name="Save").click()
    expect(task.locator(".task-in > .prose")).to_have_text("First. Second.")


def test_words_typed_while_a_comment_is_saved_stay(task: Page) -> None:
    field = task.get_by_role("combobox", name="Comment")
    field.fill("First.")
    slow = SlowAnswers(task, "POST")
    task.keyboard.press("Control+Enter")
    field.press_sequentially(" Second.")
    slow.release(task)
    expect(task.locator(".comment")).to_have_count(1)
    expect(field).to_have_value("Second.")


def test_comment_whose_answer_is_lost_is_stored_once(task: Page, watched) -> None:
    task.get_by_role("combobox", name="Comment").fill("Only once")
    lost = lose_answer(task, "POST")
    task.keyboard.press("Control+Enter")
    expect(task.locator(".comment-box .field-error")).to_contain_text("does not answer")
    assert lost.is_set()
    task.keyboard.press("Control+Enter")
    expect(task.get_by_role("combobox", name="Comment")).to_have_value("")
    task.reload()
    expect(task.locator(".comment")).to_have_count(1)
    watched.leave_out("ERR_FAILED")


def test_labels_of_two_people_are_both_kept(task: Page, other: Page, watched) -> None:
    change_without_socket(task)
    other.get_by_label("Add a label").fill("theirs")
    other.get_by_label("Add a label").press("Enter")
    expect(other.locator(".task-side")).to_contain_text("theirs")
    task.get_by_label("Add a label").fill("mine")
    task.get_by_label("Add a label").press("Enter")
    expect(task.locator(".task-side")).to_contain_text("mine")
    expect(task.locator(".task-side")).to_contain_text("theirs")
    watched.leave_out(412)


def test_title_of_a_new_task_outlasts_a_reload_and_is_stored_once(board: Page, watched) -> None:
    board.get_by_role("button", name="Add a task to To do").click()
    name = "Title of the new task in To do"
    board.get_by_role("textbox", name=name).fill("A task that is made once")
    board.reload()
    expect(board.get_by_role("textbox", name=name)).to_have_value("A task that is made once")
    lost = lose_answer(board, "POST")
    board.get_by_role("textbox", name=name).press("Enter")
    expect(board.locator(".board-notice")).to_contain_text("does not answer")
    assert lost.is_set()
    expect(board.get_by_role("textbox", name=name)).to_have_value("A task that is made once")
    board.get_by_role("textbox", name=name).press("Enter")
    expect(board.get_by_role("textbox", name=name)).to_have_value("")
    board.reload()
    expect(card(board, "A task that is made once")).to_have_count(1)
    watched.leave_out("ERR_FAILED")


def test_words_typed_while_a_doc_is_saved_stay(board: Page) -> None:
    board.locator("[data-go=d]").click()
    board.get_by_role("button", name="New doc").first.click()
    board.get_by_role("textbox", name="Text").fill("First.")
    slow = SlowAnswers(board, "PATCH")
    board.keyboard.press("Control+s")
    board.get_by_role("textbox", name="Text").press_sequentially(" Second.")
    slow.release(board)
    expect(board.get_by_role("button", name="Save")).to_be_enabled()
    expect(board.get_by_role("textbox", name="Text")).to_have_value("First. Second.")


def test_comment_that_is_sent_while_another_is_on_its_way_follows_it(task: Page) -> None:
    field = task.get_by_role("combobox", name="Comment")
    slow = SlowAnswers(task, "POST")
    for text in ("One", "Two"):
        field.fill(text)
        task.keyboard.press("Control+Enter")
    slow.release(task)
    expect(task.locator(".comment-body")).to_have_text(["One", "Two"])
    expect(field).to_have_value("")


def test_link_to_a_comment_shows_it(task: Page) -> None:
    for number in range(8):
        task.get_by_role("combobox", name="Comment").fill(f"Comment {number}\n\n\n- a\n- b")
        task.keyboard.press("Control+Enter")
        expect(task.locator(".comment")).to_have_count(number + 1)
    address = f"{task.url}#{task.locator('.comment').last.get_attribute('id')}"
    task.goto("about:blank")
    task.goto(address)
    expect(task.locator(".comment").last).to_be_in_viewport()


def test_mention_of_a_member_is_set_off_and_other_names_are_not(task: Page) -> None:
    task.get_by_role("combobox", name="Comment").fill("@guide and @nobody, `@guide`")
    task.keyboard.press("Control+Enter")
    expect(task.locator(".comment .mention")).to_have_text(["@guide"])


def test_comment_that_was_changed_in_another_window_shows_both_texts(
    task: Page, open_browser: Open, watched
) -> None:
    task.get_by_role("combobox", name="Comment").fill("First")
    task.keyboard.press("Control+Enter")
    expect(task.locator(".comment")).to_have_count(1)
    other = open_browser().new_page()
    other.goto(task.url)
    for page, text in ((task, "Mine"), (other, "Theirs")):
        page.locator(".comment").get_by_role("button", name="Edit").click()
        page.get_by_role("combobox", name="Edit the comment").fill(text)
    other.keyboard.press("Control+Enter")
    expect(other.locator(".comment")).to_contain_text("Theirs")
    task.get_by_role("button", name="Save").click()
    expect(task.locator(".conflict-one")).to_contain_text("Theirs")
    expect(task.get_by_role("combobox", name="Edit the comment")).to_have_value("Mine")
    task.get_by_role("button", name="Save").click()
    expect(task.locator(".comment")).to_contain_text("Mine")
    watched.leave_out(412)


def test_description_whose_answer_is_lost_is_no_conflict(task: Page, watched) -> None:
    describe(task, "Stored, but not told")
    lost = lose_answer(task, "PATCH")
    with task.expect_event("requestfailed"):
        task.keyboard.press("Control+s")
    assert lost.is_set()
    notice, stored = task.locator(".notice-bad"), task.locator(".task-in > .prose")
    # A page whose socket is ready only now saves again by itself.
    expect(notice.or_(stored).first).to_be_visible()
    if notice.is_visible():
        task.keyboard.press("Control+s")
    expect(stored).to_have_text("Stored, but not told")
    watched.leave_out(412)
    watched.leave_out("ERR_FAILED")


def test_doc_whose_answer_is_lost_is_made_once(board: Page, watched) -> None:
    board.locator("[data-go=d]").click()
    board.get_by_role("textbox", name="New folder").fill("Made once")
    board.get_by_role("button", name="Add the folder").click()
    new = board.get_by_role("button", name="New doc in Made once")
    expect(new).to_be_visible()
    lost = lose_answer(board, "POST")
    new.click()
    expect(board.locator(".board-notice")).to_contain_text("does not answer")
    assert lost.is_set()
    new.click()
    expect(board.get_by_role("textbox", name="Title")).to_have_value("Untitled")
    listed = board.request.get(
        board.url.split("/docs/")[0].replace("/projects/", "/api/v1/projects/") + "/docs/"
    )
    folder = listed.json()["results"][0]["folder"]
    assert [doc["folder"] for doc in listed.json()["results"]].count(folder) == 1
    watched.leave_out("ERR_FAILED")


def test_file_and_work_of_an_agent_whose_answers_are_lost_are_stored_once(
    task: Page, watched, tmp_path: Path
) -> None:
    file = tmp_path / "once.txt"
    file.write_text("once")
    expect(task.get_by_role("heading", name="Activity")).to_be_visible()
    lose_answer(task, "POST")
    task.locator("input[type=file]").set_input_files(file)
    expect(task.locator(".notice-bad")).to_contain_text("does not answer")
    task.locator("input[type=file]").set_input_files(file)
    expect(task.get_by_role("link", name="once.txt")).to_have_count(1)
    lose_answer(task, "POST")
    task.get_by_role("button", name="Write with AI").click()
    task.get_by_role("button", name="Write", exact=True).click()
    expect(task.locator(".notice-bad")).to_contain_text("does not answer")
    task.get_by_role("button", name="Write", exact=True).click()
    expect(task.get_by_role("region", name="Suggestion of Guide")).to_be_visible()
    task.reload()
    expect(task.get_by_role("link", name="once.txt")).to_have_count(1)
    expect(task.locator(".run")).to_have_count(1)
    watched.leave_out("ERR_FAILED")
    watched.leave_out(404)  # there is no suggestion yet


def test_settings_of_an_agent_that_two_people_change_show_both_values(
    board: Page, open_browser: Open, watched
) -> None:
    board.locator("[data-go=a]").click()
    board.get_by_role("link", name="Settings of Guide").click()
    other = open_browser().new_page()
    other.goto(board.url)
    for page, text in ((board, "Mine"), (other, "Theirs")):
        page.get_by_label("What it is good for").fill(text)
    with other.expect_navigation():
        other.get_by_role("button", name="Save changes").click()
    board.get_by_role("button", name="Save changes").click()
    expect(board.locator("#general")).to_contain_text("It is now: Theirs")
    expect(board.get_by_label("What it is good for")).to_have_value("Mine")
    with board.expect_navigation():
        board.get_by_role("button", name="Save changes").click()
    expect(board.get_by_label("What it is good for")).to_have_value("Mine")
    watched.leave_out(412)


def test_leaving_a_form_for_something_new_asks_first(board: Page) -> None:
    board.locator("[data-go=a]").click()
    board.get_by_role("link", name="Add an agent").click()
    board.get_by_label("Name", exact=True).fill("Half an agent")
    asked = []
    board.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    board.locator("[data-go=t]").click()
    board.wait_for_url("**/team/")
    assert asked == ["beforeunload"]
