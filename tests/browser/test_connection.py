"""The connection of a page: cut repeatedly, refused finally, and what the reader sees."""

from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser import actions


class PageSockets:
    """The sockets of a page; a test can cut them."""

    def __init__(self, page: Page) -> None:
        self.opened: list[WebSocketRoute] = []
        self.refuse_with = 0
        page.route_web_socket("**/ws/conversations/**", self._open)

    def _open(self, line: WebSocketRoute) -> None:
        self.opened.append(line)
        self.received = 0
        if self.refuse_with:
            line.close(code=self.refuse_with)
        else:
            server = line.connect_to_server()
            server.on_message(lambda message: self._pass_on(line, message))

    def _pass_on(self, line: WebSocketRoute, message: str | bytes) -> None:
        self.received += line is self.opened[-1]
        line.send(message)

    def cut(self, code: int = 1012) -> None:
        self.opened[-1].close(code=code)


def test_reconnects_lose_and_repeat_nothing(page: Page) -> None:
    sockets = PageSockets(page)
    actions.start(page, actions.SMALL_PROGRAM)
    for times in range(1, 13):
        while len(sockets.opened) < times or not sockets.received:
            page.wait_for_timeout(20)
        sockets.cut(4408)
    actions.wait_until(page, "finished")
    seen, text = actions.stored_rows(page), actions.text_of(page)
    assert len(seen) == len(set(seen))
    assert text.count("Now I run it.") == 1
    page.reload()
    actions.wait_until(page, "finished")
    page.wait_for_selector(".flow > [data-key]")
    assert actions.stored_rows(page) == seen


def test_message_sent_while_disconnected_is_sent_once_after_the_reconnect(page: Page) -> None:
    sockets = PageSockets(page)
    actions.start(page)
    actions.wait_until(page, "finished")
    sockets.refuse_with = 1012
    sockets.cut()
    actions.write(page, "Look around the sandbox and tell me what is there.")
    expect(page.get_by_text("not sent yet")).to_be_visible()
    expect(page.get_by_text("Connection lost.")).to_be_visible()
    sockets.refuse_with = 0
    actions.wait_until_answered(page, 2)
    assert actions.text_of(page).count("Look around the sandbox and tell me what is there.") == 2
    expect(page.get_by_text("Connection lost.")).to_have_count(0)


def test_final_refusal_is_shown_and_not_retried(page: Page) -> None:
    for code, said in (
        (4401, "You are signed out."),
        (4403, "You may no longer see this conversation."),
        (4404, "This conversation was deleted."),
    ):
        other = page.context.new_page()
        sockets = PageSockets(other)
        other.clock.install()
        actions.start(other)
        actions.wait_until(other, "finished")
        sockets.cut(code)
        expect(other.get_by_text(said)).to_be_visible()
        opened = len(sockets.opened)
        other.clock.fast_forward(600_000)
        assert other.evaluate("navigator.onLine"), "the page has run its timers"
        assert len(sockets.opened) == opened
        other.close()


def test_refused_message_returns_to_the_field(page: Page) -> None:
    actions.start(page)
    actions.wait_until(page, "finished")
    field = page.get_by_role("textbox", name="Message")
    # What people can type is bounded by the field; the server has the last word all the same.
    field.evaluate("(field) => field.removeAttribute('maxlength')")
    field.fill("x" * 100_001)
    field.press("Enter")
    expect(page.get_by_text("Not sent.")).to_be_visible()
    assert len(field.input_value()) == 100_001
    expect(field).to_be_focused()
