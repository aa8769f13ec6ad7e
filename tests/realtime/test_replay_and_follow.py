"""A page sees the log exactly once and in order, whenever it comes and however often it is cut off."""

import contextlib
import random
import threading
import time
from collections.abc import Iterator

import pytest

from paca.bus import get_bus
from paca.bus.base import conversation_topic
from paca.conversations import selectors
from tests.realtime.pages import Chat, application, conversation_page, make_chat, session
from tests.support.live_server import running

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_stored_comes_first_then_ready_then_what_happens(server, chat):
    last = chat.say(450)
    with conversation_page(server, chat.id, session(server, chat.owner)) as page:
        ready = page.until("ready")
        assert page.seqs == list(range(1, last + 1))
        assert ready["seq"] == last
        assert ready["conversation"]["id"] == str(chat.id)
        assert ready["conversation"]["last_seq"] == last
        new = chat.say()
        assert page.next()["seq"] == new


def test_frames_have_the_shape_of_the_rest_api(server, chat):
    chat.say(3)
    with conversation_page(server, chat.id, session(server, chat.owner)) as page:
        page.until("ready")
    stored = selectors.frames_after(chat.id, 0)
    assert [frame for frame in page.frames if frame["type"] != "ready"] == stored


def test_only_what_is_above_after_is_sent(server, chat):
    last = chat.say(10)
    with conversation_page(server, chat.id, session(server, chat.owner), after=last - 2) as page:
        page.until("ready")
        assert page.seqs == [last - 1, last]


def test_a_page_that_knows_more_than_the_log_is_told_where_the_log_ends(server, chat):
    last = chat.say(3)
    with conversation_page(server, chat.id, session(server, chat.owner), after=last + 1000) as page:
        assert page.until("ready")["seq"] == last
        new = chat.say()
        assert page.next()["seq"] == new


@contextlib.contextmanager
def somebody_writing(chat: Chat) -> Iterator[None]:
    """A row every two milliseconds: slower than a page reads, so that it can catch up."""
    enough = threading.Event()

    def write() -> None:
        while not enough.wait(0.002):
            chat.say()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        enough.set()
        writer.join()


def test_a_page_that_comes_while_events_are_written_misses_none_and_gets_none_twice(server, chat):
    headers = session(server, chat.owner)
    with somebody_writing(chat):
        for _ in range(15):
            with conversation_page(server, chat.id, headers) as page:
                most = page.until("ready")["seq"]
                page.until(lambda frame, wanted=most + 3: frame["seq"] == wanted)
                assert page.seqs == list(range(1, most + 4))


def test_a_page_cut_off_twenty_times_gets_each_event_over_the_wire_once(server, chat):
    """T-21: a run of 300 events; each return sends only what is above the last number seen."""
    chance = random.Random(21)
    headers = session(server, chat.owner)
    run = threading.Thread(target=lambda: [(chat.say(), time.sleep(0.01)) for _ in range(297)])
    run.start()
    seen: list[dict] = []
    for cut in [*sorted(chance.sample(range(1, 300), 20)), 300]:
        last = seen[-1]["seq"] if seen else 0
        with conversation_page(server, chat.id, headers, after=last) as page:
            page.until(lambda frame, cut=cut: frame["seq"] >= cut, 20)
        page.close_code()  # what was under way when it was cut counts too
        seen += [frame for frame in page.frames if frame["type"] != "ready"]
    run.join()
    stored = list(selectors.all_frames(chat.conversation))
    assert len(stored) == 300
    assert seen == stored  # all that ever came over the wire: one pass, no byte of an event twice


def test_a_lost_announcement_costs_seconds_not_the_event(chat, monkeypatch):
    with (
        running(application(sweep_seconds=0.3)) as server,
        conversation_page(server, chat.id, session(server, chat.owner)) as page,
    ):
        page.until("ready")
        with monkeypatch.context() as deaf:
            deaf.setattr(get_bus(), "announce", lambda *_: None)
            last = chat.say()
        assert page.next(5)["seq"] == last


def test_a_false_announcement_shows_nothing_and_breaks_nothing(server, chat):
    with conversation_page(server, chat.id, session(server, chat.owner)) as page:
        page.until("ready")
        get_bus().announce(conversation_topic(chat.id), 10_000)
        new = chat.say()
        assert page.next()["seq"] == new


def test_two_pages_of_one_conversation_see_the_same(server, chat):
    headers = session(server, chat.owner)
    with (
        conversation_page(server, chat.id, headers) as one,
        conversation_page(server, chat.id, headers) as two,
    ):
        one.until("ready")
        two.until("ready")
        last = chat.say(50)
        for page in (one, two):
            page.until(lambda frame: frame["seq"] == last)
            assert page.seqs == list(range(1, last + 1))


def test_a_page_hears_nothing_of_other_conversations(server, chat):
    second = make_chat("Quay")
    with conversation_page(server, second.id, session(server, second.owner)) as page:
        page.until("ready")
        chat.say(5)
        second.say()
        assert page.next()["data"]["text"] == "word 0"
        assert page.seqs == list(range(1, page.seqs[-1] + 1))
