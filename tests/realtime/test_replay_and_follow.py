"""Replay and follow: a page gets every event exactly once and in order, also when it reconnects."""

import contextlib
import dataclasses
import random
import threading
import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from django.utils import timezone

from paca import events
from paca.bus import get_bus
from paca.bus.base import conversation_topic
from paca.common.text import to_storable_json
from paca.conversations import store
from paca.conversations.models import Conversation, Event
from tests.realtime.pages import Chat, application, conversation_page, make_chat, session_headers
from tests.support.api import Api
from tests.support.frames import frames_of
from tests.support.live_server import running

pytestmark = pytest.mark.django_db(transaction=True)


def test_socket_sends_stored_events_then_ready_then_new_events(server, chat):
    last = chat.append_messages(450)
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as page:
        ready = page.until("ready")
        assert page.seqs == list(range(1, last + 1))
        assert ready["seq"] == last
        assert datetime.fromisoformat(ready["at"]) <= timezone.now()
        assert ready["conversation"]["id"] == str(chat.id)
        assert ready["conversation"]["last_seq"] == last
        new = chat.append_messages()
        assert page.next()["seq"] == new


SAMPLES = {
    "str": 'a "quoted" \\ Grüße\u2028€𝄞\n',
    "int": 3,
    "float": 0.25,
    "bool": True,
    "int | None": None,
    "float | None": 1.0,
}


def one_event_of_each_type() -> list[events.Event]:
    """Every stored type of the catalogue, with a sample of its type in each plain field."""
    found = []
    for cls in events.EVENT_TYPES.values():
        if cls.durable:
            fields = dataclasses.fields(cls)
            samples = {
                each.name: SAMPLES.get(str(getattr(each.type, "__name__", each.type)))
                for each in fields
            }
            found.append(cls(**samples))
    return found


def test_socket_and_api_show_the_same_frame_of_each_stored_event(server, chat):
    catalogue = one_event_of_each_type()
    Event.objects.bulk_create(
        Event(
            conversation=chat.conversation,
            seq=seq,
            type=event.type,
            source=store.source_of(event),
            turn=seq % 2 or None,
            at=timezone.now(),
            payload=to_storable_json(event.payload()),
        )
        for seq, event in enumerate(catalogue, chat.conversation.next_seq)
    )
    last = chat.conversation.next_seq - 1 + len(catalogue)
    Conversation.objects.filter(pk=chat.id).update(next_seq=last + 1)
    store.append(chat.id, events.MessageSpoken(text="y" * 90_000))
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as page:
        page.until("ready")
    address = f"/projects/{chat.world.project.pk}/conversations/{chat.id}/events/?after=0"
    frames = Api(chat.owner).get(address).json()["results"]
    assert [frame["seq"] for frame in frames] == list(range(1, last + 2))
    assert [frame for frame in page.frames if frame["type"] != "ready"] == frames


def test_socket_and_api_show_the_same_conversation_object(server, chat):
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as page:
        ready = page.until("ready")
    address = f"/projects/{chat.world.project.pk}/conversations/{chat.id}/"
    shown = Api(chat.owner).get(address).json()
    assert ready["conversation"] == shown
    assert shown["created_at"].endswith("+00:00")


def test_socket_sends_only_events_above_after(server, chat):
    last = chat.append_messages(10)
    with conversation_page(
        server, chat.id, session_headers(server, chat.owner), after=last - 2
    ) as page:
        page.until("ready")
        assert page.seqs == [last - 1, last]


def test_ready_frame_tells_a_page_ahead_of_the_log_where_the_log_ends(server, chat):
    last = chat.append_messages(3)
    with conversation_page(
        server, chat.id, session_headers(server, chat.owner), after=last + 1000
    ) as page:
        assert page.until("ready")["seq"] == last
        new = chat.append_messages()
        assert page.next()["seq"] == new


@contextlib.contextmanager
def events_being_written(chat: Chat) -> Iterator[None]:
    """Append an event every two milliseconds, slower than a page reads, so that it can catch up."""
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.002):
            chat.append_messages()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def test_page_opened_while_events_are_written_gets_each_event_once(server, chat):
    headers = session_headers(server, chat.owner)
    with events_being_written(chat):
        for _ in range(15):
            with conversation_page(server, chat.id, headers) as page:
                latest = page.until("ready")["seq"]
                page.until(lambda frame, wanted=latest + 3: frame["seq"] == wanted)
                assert page.seqs == list(range(1, latest + 4))


def test_page_that_reconnects_twenty_times_gets_each_event_once(server, chat):
    """T-21: in a run of 300 events, each reconnection sends only events above the last seq seen."""
    rng = random.Random(21)
    headers = session_headers(server, chat.owner)
    run = threading.Thread(
        target=lambda: [(chat.append_messages(), time.sleep(0.01)) for _ in range(297)]
    )
    run.start()
    seen: list[dict] = []
    for cut in [*sorted(rng.sample(range(1, 300), 20)), 300]:
        last = seen[-1]["seq"] if seen else 0
        with conversation_page(server, chat.id, headers, after=last) as page:
            page.until(lambda frame, cut=cut: frame["seq"] >= cut, 20)
        page.close_code()  # also count the frames that were on their way
        seen += [frame for frame in page.frames if frame["type"] != "ready"]
    run.join()
    stored = frames_of(chat.id)
    assert len(stored) == 300
    assert seen == stored  # no event was sent twice over all connections


def test_lost_announcement_delays_an_event_and_does_not_lose_it(chat, monkeypatch):
    with (
        running(application(sweep_seconds=0.3)) as server,
        conversation_page(server, chat.id, session_headers(server, chat.owner)) as page,
    ):
        page.until("ready")
        with monkeypatch.context() as without_announcements:
            without_announcements.setattr(get_bus(), "announce", lambda *_: None)
            last = chat.append_messages()
        assert page.next(5)["seq"] == last


def test_false_announcement_shows_nothing_and_breaks_nothing(server, chat):
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as page:
        page.until("ready")
        get_bus().announce(conversation_topic(chat.id), 10_000)
        new = chat.append_messages()
        assert page.next()["seq"] == new


def test_two_pages_of_one_conversation_see_the_same_events(server, chat):
    headers = session_headers(server, chat.owner)
    with (
        conversation_page(server, chat.id, headers) as one,
        conversation_page(server, chat.id, headers) as two,
    ):
        one.until("ready")
        two.until("ready")
        last = chat.append_messages(50)
        for page in (one, two):
            page.until(lambda frame: frame["seq"] == last)
            assert page.seqs == list(range(1, last + 1))


def test_page_gets_no_events_of_other_conversations(server, chat):
    second = make_chat("Quay")
    with conversation_page(server, second.id, session_headers(server, second.owner)) as page:
        page.until("ready")
        chat.append_messages(5)
        second.append_messages()
        assert page.next()["data"]["text"] == "word 0"
        assert page.seqs == list(range(1, page.seqs[-1] + 1))
