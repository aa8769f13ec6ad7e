"""Words that were written and not sent: they outlast a limit, a lost or silent link, a sign-out and a reload."""

import json
import re
from collections.abc import Callable
from uuid import uuid4

from playwright.sync_api import BrowserContext, Page, WebSocketRoute, expect

from tests.browser import actions
from tests.browser.conftest import PASSWORD, PageWatcher
from tests.browser.test_connection import PageSockets

WIDE = "漢" * 90_000


def field_of(page: Page):
    return page.get_by_role("textbox", name="Message")


def test_message_of_wide_characters_is_sent_and_one_too_long_stays_in_the_field(page: Page) -> None:
    actions.start(page)
    actions.wait_until(page, "finished")
    field = field_of(page)
    field.fill("x" * 100_001)
    field.press("Enter")
    expect(page.locator(".composer-note").get_by_text("At most 100,000 characters")).to_be_visible()
    assert len(field.input_value()) == 100_001
    field.fill(WIDE)
    field.press("Enter")
    expect(field).to_have_value("")
    # Nobody holds this run: it may have ended before a look at it.
    expect(page.locator(".bubble").last).to_contain_text("漢漢漢")
    expect(page.get_by_text("Sending…")).to_have_count(0)
    page.reload()
    expect(page.locator(".bubble").last).to_contain_text("漢漢漢")


def test_message_that_cannot_be_sent_outlasts_a_reload_or_is_taken_back(page: Page) -> None:
    sockets = PageSockets(page)
    actions.start(page)
    actions.wait_until(page, "finished")
    sockets.refuse_with = 1012
    sockets.cut()
    field = field_of(page)
    for text in ("First of two.", "Second of two."):
        field.fill(text)
        field.press("Enter")
    queued = page.get_by_role("list", name="Queued messages")
    expect(queued.get_by_text("not sent yet")).to_have_count(2)
    queued.get_by_role("button", name="Take back: First of two.").click()
    expect(field).to_have_value("First of two.")
    page.reload()
    expect(field).to_have_value("First of two.")
    sockets.refuse_with = 0
    expect(page.locator(".bubble").get_by_text("Second of two.")).to_have_count(1)
    expect(queued).to_have_count(0)


def test_message_written_after_a_sign_out_elsewhere_is_sent_after_the_next_sign_in(
    open_browser: Callable[..., BrowserContext], watched: PageWatcher
) -> None:
    """The sign-out ends this session everywhere, so the test has a session of its own."""
    own = open_browser(storage_state=None)
    first = own.new_page()
    sign_in(first, "/")
    actions.start(first)
    actions.wait_until(first, "finished")
    second = own.new_page()
    second.goto("/accounts/logout/")
    second.get_by_role("button", name="Sign out").click()
    field = field_of(first)
    field.fill("Kept over the sign-out.")
    field.press("Enter")
    expect(first.get_by_text("Your message is kept")).to_be_visible()
    field.press_sequentially("and a draft")
    expect(first.get_by_role("link", name="Sign in")).to_be_visible()
    sign_in(second, "/")
    first.evaluate("dispatchEvent(new Event('focus'))")  # the person comes back to this tab
    expect(first.locator(".bubble").get_by_text("Kept over the sign-out.")).to_have_count(1)
    expect(field_of(first)).to_have_value("and a draft")
    # The page may ask for its lists while nobody is signed in.
    watched.leave_out(401)


class SocketsOfAnotherPerson(PageSockets):
    """The first socket after ``cut`` is that of another person, who has signed in meanwhile in this browser."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.of_another: WebSocketRoute | None = None
        self.sent_as_another: list[str] = []

    def _open(self, line: WebSocketRoute) -> None:
        if self.refuse_with or self.of_another is not None or not self.opened:
            super()._open(line)
            return
        self.of_another = line
        server = line.connect_to_server()
        server.on_message(lambda message: line.send(self._as_another(json.loads(message))))
        line.on_message(lambda message: self.sent_as_another.append(str(message)))

    def _as_another(self, frame: dict[str, object]) -> str:
        other = {"member": str(uuid4())} if frame["type"] == "ready" else {}
        return json.dumps({**frame, **other})


def test_words_of_one_person_are_not_sent_for_another_who_has_signed_in(page: Page) -> None:
    sockets = SocketsOfAnotherPerson(page)
    actions.start(page)
    actions.wait_until(page, "finished")
    sockets.refuse_with = 1012
    sockets.cut()
    actions.write(page, "These are my words.")
    expect(page.get_by_text("not sent yet")).to_be_visible()
    sockets.refuse_with = 0
    # The page is loaded again. Here that is by the author of the words, so that they are sent then.
    expect(page.locator(".bubble").get_by_text("These are my words.")).to_have_count(1)
    expect(page.get_by_role("list", name="Queued messages")).to_have_count(0)
    assert sockets.of_another is not None
    assert sockets.sent_as_another == []


def sign_in(page: Page, address: str) -> None:
    page.goto(address)
    fill_in(page)


def fill_in(page: Page) -> None:
    page.get_by_label(re.compile("Username|Login")).fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/projects/**")


def test_silent_link_is_said_and_replaced_and_the_message_arrives(page: Page) -> None:
    """The packets of the first link are dropped after a while: it looks open for minutes."""
    page.clock.install()
    links = []

    def open_link(line) -> None:
        links.append(line)
        server = line.connect_to_server()
        dead = len(links) == 1
        line.on_message(lambda text: None if dead and silent else server.send(text))
        server.on_message(lambda text: None if dead and silent else line.send(text))

    silent = False
    page.route_web_socket("**/ws/conversations/**", open_link)
    actions.start(page)
    actions.wait_until(page, "finished")
    silent = True
    actions.write(page, "Look around the sandbox and tell me what is there.")
    page.clock.run_for(30_000)
    while len(links) == 1:
        page.clock.run_for(1_000)
    actions.wait_until(page, "running")
    expect(page.locator(".bubble").get_by_text("Look around the sandbox")).to_have_count(2)


def test_words_typed_on_while_the_conversation_opens_are_in_its_composer(page: Page) -> None:
    page.clock.install()
    page.goto("/")
    page.get_by_role("link", name="Agents", exact=True).first.click()
    page.locator("td a.cell").first.click()
    field = field_of(page)
    field.click()
    page.keyboard.type("Look around the sandbox and tell me what is there.")
    with actions.stopped_clock(page):
        page.keyboard.press("Enter")
        page.keyboard.type("can you also")
    page.wait_for_url("**/conversations/**")
    expect(field).to_be_focused()
    expect(field).to_have_value("can you also")
    actions.wait_until(page, "finished")
    assert "?" not in page.url
