"""Live text over a socket: from its beginning, merged, and at most 20 times a second."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from paca import events
from paca.bus import get_bus
from paca.bus.base import Signal, conversation_topic
from paca.conversations import store
from tests.realtime.pages import Chat, conversation_page, session_headers

pytestmark = pytest.mark.django_db(transaction=True)


class RunningCall:
    """A running model call as a worker streams it. ``repeat`` sends the text so far again."""

    def __init__(self, chat: Chat, call_id: str = "c1") -> None:
        self.topic = conversation_topic(chat.id)
        self.call_id = call_id
        self.text = ""

    def stream(self, words: str) -> None:
        offset, self.text = len(self.text), self.text + words
        self._send(offset, words)

    def repeat(self) -> None:
        self._send(0, self.text)

    def _send(self, offset: int, words: str) -> None:
        event = events.TextStreamed(call_id=self.call_id, offset=offset, text=words)
        frame = {"type": event.type, "seq": None, "at": "", "source": "agent", "turn": 1}
        get_bus().live(self.topic, frame | {"data": event.payload()})


@contextmanager
def answering(chat: Chat, call: RunningCall) -> Iterator[list[Signal]]:
    """Answer each request for live text as the worker that holds the conversation would."""
    requests: list[Signal] = []
    bus = get_bus()
    original = bus.signal

    def signal(conversation_id, signal=Signal.INBOX):
        original(conversation_id, signal)
        if conversation_id == chat.id and signal is Signal.ATTACH:
            requests.append(signal)
            call.repeat()

    bus.signal = signal
    try:
        yield requests
    finally:
        del bus.signal


def read_text(page, wanted: int, call_id: str = "c1") -> str:
    """Join the live text as a page does, until it is this long."""
    text = ""
    while len(text) < wanted:
        data = page.until("agent.text.streamed")["data"]
        if data["call_id"] == call_id:
            assert data["offset"] == len(text), "a gap or a repetition"
            text += data["text"]
    return text


def test_late_viewer_gets_the_text_so_far_and_then_the_rest(server, chat):
    call = RunningCall(chat)
    call.stream("The harbour opens ")
    with (
        answering(chat, call),
        conversation_page(server, chat.id, session_headers(server, chat.owner)) as page,
    ):
        page.until("ready")
        assert read_text(page, 18) == "The harbour opens "
        call.stream("at dawn.")
        assert page.until("agent.text.streamed")["data"] == {
            "call_id": "c1",
            "offset": 18,
            "text": "at dawn.",
        }


def test_second_viewer_gets_the_beginning_and_the_first_gets_nothing_twice(server, chat):
    call = RunningCall(chat)
    headers = session_headers(server, chat.owner)
    with answering(chat, call), conversation_page(server, chat.id, headers) as first:
        first.until("ready")
        call.stream("One two three ")
        assert read_text(first, 14) == "One two three "
        with conversation_page(server, chat.id, headers) as second:
            second.until("ready")
            assert read_text(second, 14) == "One two three "
            call.stream("four")
            for page in (first, second):
                data = page.until("agent.text.streamed")["data"]
                assert (data["offset"], data["text"]) == (14, "four")


def test_viewers_that_join_at_once_request_live_text_once(server, chat):
    call = RunningCall(chat)
    call.stream("Hello")
    headers = session_headers(server, chat.owner)
    pages = []
    with answering(chat, call) as requests:
        for _ in range(8):
            page = conversation_page(server, chat.id, headers)
            page.__enter__()
            pages.append(page)
        for page in pages:
            assert read_text(page, 5) == "Hello"
            page.__exit__()
    assert len(requests) <= 8


def test_fast_stream_reaches_a_page_at_most_twenty_times_a_second(server, chat):
    call = RunningCall(chat)
    with (
        answering(chat, call),
        conversation_page(server, chat.id, session_headers(server, chat.owner)) as page,
    ):
        page.until("ready")
        began = time.monotonic()
        writer = threading.Thread(
            target=lambda: [(call.stream("word "), time.sleep(0.002)) for _ in range(400)]
        )
        writer.start()
        assert read_text(page, 2000) == "word " * 400
        took = time.monotonic() - began
        writer.join()
    live = [frame for frame in page.frames if frame["type"] == "agent.text.streamed"]
    assert len(live) <= took * 20 + 2


def test_live_text_never_comes_after_the_message_that_replaces_it(server, chat):
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as page:
        page.until("ready")
        for n in range(20):
            call = RunningCall(chat, call_id=f"call-{n}")
            for word in ("All ", "is ", "well."):
                call.stream(word)
            store.append(chat.id, events.MessageSpoken(text=call.text, call_id=call.call_id))
            call.repeat()  # a worker that answers a request a moment too late
        end = chat.append_messages(1, "end")
        page.until(lambda frame: frame["seq"] == end)
        # Live text is merged before it is sent. Text of a later call is sent after all that waited.
        RunningCall(chat, call_id="later").stream("Next.")
        assert read_text(page, 5, "later") == "Next."
    replaced = set()
    for frame in page.frames:
        if frame["type"] == "agent.message.spoken":
            replaced.add(frame["data"]["call_id"])
        elif frame["type"] == "agent.text.streamed":
            assert frame["data"]["call_id"] not in replaced


def test_live_text_with_a_lone_surrogate_and_nul_reaches_the_page_as_valid_text(server, chat):
    """T-43: a browser accepts every frame, whatever text a model or a command writes."""
    call = RunningCall(chat)
    with (
        answering(chat, call),
        conversation_page(server, chat.id, session_headers(server, chat.owner)) as page,
    ):
        page.until("ready")
        call.stream("a\ud800b\x00é😀")
        assert read_text(page, 6) == "a?b\x00é😀"
