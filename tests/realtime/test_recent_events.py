"""Recent events: each new event is read once for all viewers, and each viewer gets every event."""

import asyncio
import gc
import random
import time
from contextlib import ExitStack
from uuid import UUID

import pytest
from django.utils import timezone

from paca import events
from paca.bus import get_bus
from paca.bus.base import conversation_topic
from paca.conversations.models import Conversation, Event
from paca.realtime import database
from paca.realtime.recent_events import MAX_CHARACTERS, MAX_EVENTS, EventFrame, RecentEvents
from tests.realtime import pages
from tests.realtime.pages import application, conversation_page, session_headers
from tests.support.live_server import running

PAGES, EVENTS = 12, 40


class Log:
    """A log that grows while it is read, and that records its queries."""

    def __init__(self, rng: random.Random, characters: int = 1) -> None:
        self.random = rng
        self.characters = characters  # of each event
        self.last = 0
        self.queries: list[int] = []
        self.fails = False

    async def read(self, after: int, limit: int) -> list[EventFrame]:
        self.queries.append(after)
        await asyncio.sleep(self.random.choice((0, 0, 0.0005)))
        if self.fails:
            raise ConnectionError
        numbers = range(after + 1, min(self.last, after + limit) + 1)
        found = [event_frame(seq, self.characters) for seq in numbers]
        await asyncio.sleep(self.random.choice((0, 0, 0.0005)))
        return found


def event_frame(seq: int, characters: int = 1) -> EventFrame:
    return EventFrame(seq, "agent.message.spoken", "", "x" * characters)


async def follow(recent: RecentEvents, log: Log, until: int, *, after: int = 0) -> list[int]:
    """The seqs that a viewer gets which asks until it has reached ``until``."""
    seen = []
    while after < until:
        for found in await recent.after(after, log.random.randrange(1, 30)):
            seen.append(found.seq)
            after = found.seq
        await asyncio.sleep(log.random.choice((0, 0, 0.001)))
    return seen


@pytest.mark.anyio
@pytest.mark.parametrize("seed", range(20))
async def test_recent_events_give_each_viewer_every_event_once_and_in_order(seed):
    sizes = (1, MAX_CHARACTERS // 10, 2 * MAX_CHARACTERS)
    log = Log(random.Random(seed), sizes[seed % 3])
    recent = RecentEvents(log.read)
    ends = 2 * MAX_EVENTS
    starts = [0, 0, 1, 250, 900] + [log.random.randrange(ends) for _ in range(5)]
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        viewers = {
            group.create_task(follow(recent, log, ends, after=start)): start for start in starts
        }
        leaving = [group.create_task(follow(recent, log, ends)) for _ in range(3)]
        while log.last < ends:
            log.last = min(ends, log.last + log.random.randrange(1, 40))
            await asyncio.sleep(0.001)
            if leaving:
                leaving.pop().cancel()
    for task, start in viewers.items():
        assert task.result() == list(range(start + 1, ends + 1))


@pytest.mark.anyio
async def test_recent_events_do_not_answer_empty_from_a_query_that_began_before_the_question():
    """The query may have run before the event was stored."""
    query_ran, may_return = asyncio.Event(), asyncio.Event()
    log: list[EventFrame] = []

    async def read(after: int, limit: int) -> list[EventFrame]:
        found = log[after:]
        if not query_ran.is_set():
            query_ran.set()
            await may_return.wait()
        return found

    recent = RecentEvents(read)
    early = asyncio.create_task(recent.after(0, 20))
    await query_ran.wait()
    log.append(event_frame(1))
    late = asyncio.create_task(recent.after(0, 20))
    await asyncio.sleep(0)
    may_return.set()
    assert await late == [event_frame(1)]
    assert await early in ([], [event_frame(1)])


@pytest.mark.anyio
async def test_recent_events_raise_a_failed_query_to_every_waiter_and_query_again():
    log = Log(random.Random(1))
    log.last, log.fails = 3, True
    recent = RecentEvents(log.read)
    errors = await asyncio.gather(*(recent.after(0, 20) for _ in range(5)), return_exceptions=True)
    assert {type(error) for error in errors} == {ConnectionError}
    log.fails = False
    assert [found.seq for found in await recent.after(0, 20)] == [1, 2, 3]


@pytest.mark.anyio
async def test_recent_events_log_nothing_about_a_failed_query_without_waiters(caplog):
    started, may_fail = asyncio.Event(), asyncio.Event()

    async def read(after: int, limit: int) -> list[EventFrame]:
        started.set()
        await may_fail.wait()
        raise ConnectionError

    others = asyncio.all_tasks()
    waiter = asyncio.create_task(RecentEvents(read).after(0, 20))
    await started.wait()
    (query,) = asyncio.all_tasks() - others - {waiter}
    waiter.cancel()
    await asyncio.wait([waiter])
    may_fail.set()
    await asyncio.wait([query])
    del query, waiter
    gc.collect()
    assert caplog.records == []


@pytest.mark.anyio
async def test_recent_events_keep_a_bounded_number():
    log = Log(random.Random(2))
    log.last = 4 * MAX_EVENTS
    recent = RecentEvents(log.read)
    await follow(recent, log, log.last)
    log.queries.clear()
    await recent.after(log.last - MAX_EVENTS // 2, 20)
    assert log.queries == []
    await recent.after(log.last - 2 * MAX_EVENTS, 20)
    assert log.queries == [log.last - 2 * MAX_EVENTS]


@pytest.mark.anyio
async def test_recent_events_give_waiters_the_whole_of_a_page_larger_than_they_keep():
    length = 50
    log = Log(random.Random(3), MAX_CHARACTERS // 10)
    log.last = length
    recent = RecentEvents(log.read)
    read = await asyncio.gather(*(recent.after(0, limit) for limit in (length, length, 7)))
    assert [[found.seq for found in page] for page in read] == [
        list(range(1, limit + 1)) for limit in (length, length, 7)
    ]
    assert log.queries == [0]
    await recent.after(length - 10, 20)
    assert log.queries == [0]
    await recent.after(length - 11, 20)  # only the last ten events are kept
    assert log.queries == [0, length - 11]


@pytest.fixture
def queries(monkeypatch) -> list[int]:
    """The seqs after which the database was queried."""
    found: list[int] = []

    async def counted(conversation_id: UUID, after: int, limit: int) -> list[EventFrame]:
        found.append(after)
        return await database.events_after(conversation_id, after, limit)

    monkeypatch.setattr(pages, "events_after", counted)
    return found


@pytest.mark.django_db(transaction=True)
def test_event_that_many_pages_wait_for_is_read_once(chat, queries):
    with running(application()) as server, ExitStack() as open_pages:
        headers = session_headers(server, chat.owner)
        watching = [
            open_pages.enter_context(conversation_page(server, chat.id, headers))
            for _ in range(PAGES)
        ]
        for page in watching:
            page.until("ready")
        queries.clear()
        for _ in range(EVENTS):
            last = chat.append_messages()
        for page in watching:
            page.until(lambda frame: frame["seq"] == last)
            assert page.seqs == list(range(1, last + 1))
    assert len(queries) <= 2 * EVENTS  # without sharing it would be twelve times as many


@pytest.mark.django_db(transaction=True)
def test_announced_event_that_does_not_exist_is_looked_for_once(chat, queries):
    topic = conversation_topic(chat.id)
    with (
        running(application()) as server,
        conversation_page(server, chat.id, session_headers(server, chat.owner)) as page,
    ):
        page.until("ready")
        queries.clear()
        get_bus().announce(topic, 10**6)
        for n in range(10):
            event = events.ToolProgressed(call_id="t1", offset=n, text="x")
            frame = {"type": event.type, "seq": None, "source": "agent", "turn": 1, "at": ""}
            get_bus().live(topic, frame | {"data": event.payload()})
            page.until(event.type)
        last = chat.append_messages()
        page.until(lambda frame: frame["seq"] == last)
    assert len(queries) == 2


@pytest.mark.django_db(transaction=True)
def test_page_opened_after_a_restore_gets_the_restored_log_while_another_still_watches(chat):
    with running(application()) as server:
        headers = session_headers(server, chat.owner)

        def last_text_of_a_new_page() -> str:
            with conversation_page(server, chat.id, headers) as page:
                page.until("ready")
            return page.frames[-2]["data"]["text"]

        with conversation_page(server, chat.id, headers) as page:
            page.until("ready")
            kept = chat.append_messages()
            chat.append_messages(2, text="written after the backup")
            page.until(lambda frame: frame["seq"] == kept + 2)
            restore(chat.id, kept)
            chat.append_messages(text="written after the restore")
            end = time.monotonic() + 30
            while last_text_of_a_new_page() != "written after the restore 0":
                assert time.monotonic() < end


def restore(conversation_id: UUID, last: int) -> None:
    """Restore the log as it was at ``last``. The database lets events go only in deleted conversations."""
    rows_of_it = Conversation.objects.filter(pk=conversation_id)
    rows_of_it.update(deleted_at=timezone.now())
    Event.objects.filter(conversation=conversation_id, seq__gt=last).delete()
    rows_of_it.update(deleted_at=None, next_seq=last + 1)
