"""However many pages follow a log, each new row of it is read once, and each page gets every row."""

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
from tests.realtime.pages import application, conversation_page, session
from tests.support.live_server import running

PAGES, ROWS = 12, 40


class Log:
    """A log that is written to while it is read, and counts its readings."""

    def __init__(self, chance: random.Random, characters: int = 1) -> None:
        self.chance = chance
        self.characters = characters  # of each row
        self.last = 0
        self.readings: list[int] = []
        self.refuses = False

    async def read(self, after: int, most: int) -> list[EventFrame]:
        self.readings.append(after)
        await asyncio.sleep(self.chance.choice((0, 0, 0.0005)))
        if self.refuses:
            raise ConnectionError
        numbers = range(after + 1, min(self.last, after + most) + 1)
        found = [row(seq, self.characters) for seq in numbers]
        await asyncio.sleep(self.chance.choice((0, 0, 0.0005)))
        return found


def row(seq: int, characters: int = 1) -> EventFrame:
    return EventFrame(seq, "agent.message.spoken", "", "x" * characters)


async def follow(recent: RecentEvents, log: Log, until: int, *, after: int = 0) -> list[int]:
    """What a page would be sent that asks again whenever it hears that there is more."""
    seen = []
    while after < until:
        for found in await recent.after(after, log.chance.randrange(1, 30)):
            seen.append(found.seq)
            after = found.seq
        await asyncio.sleep(log.chance.choice((0, 0, 0.001)))
    return seen


@pytest.mark.anyio
@pytest.mark.parametrize("seed", range(20))
async def test_recent_events_give_each_viewer_every_event_once_and_in_order(seed):
    sizes = (1, MAX_CHARACTERS // 10, 2 * MAX_CHARACTERS)
    log = Log(random.Random(seed), sizes[seed % 3])
    recent = RecentEvents(log.read)
    ends = 2 * MAX_EVENTS
    starts = [0, 0, 1, 250, 900] + [log.chance.randrange(ends) for _ in range(5)]
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        followers = {
            group.create_task(follow(recent, log, ends, after=start)): start for start in starts
        }
        hasty = [group.create_task(follow(recent, log, ends)) for _ in range(3)]
        while log.last < ends:
            log.last = min(ends, log.last + log.chance.randrange(1, 40))
            await asyncio.sleep(0.001)
            if hasty:
                hasty.pop().cancel()
    for task, start in followers.items():
        assert task.result() == list(range(start + 1, ends + 1))


@pytest.mark.anyio
async def test_recent_events_do_not_answer_empty_from_a_query_that_began_before_the_question():
    """That reading may have looked before the row was there."""
    looked, may_go = asyncio.Event(), asyncio.Event()
    log: list[EventFrame] = []

    async def read(after: int, most: int) -> list[EventFrame]:
        found = log[after:]
        if not looked.is_set():
            looked.set()
            await may_go.wait()
        return found

    recent = RecentEvents(read)
    early = asyncio.create_task(recent.after(0, 20))
    await looked.wait()
    log.append(row(1))
    late = asyncio.create_task(recent.after(0, 20))
    await asyncio.sleep(0)
    may_go.set()
    assert await late == [row(1)]
    assert await early in ([], [row(1)])


@pytest.mark.anyio
async def test_recent_events_raise_a_failed_query_to_every_waiter_and_query_again():
    log = Log(random.Random(1))
    log.last, log.refuses = 3, True
    recent = RecentEvents(log.read)
    told = await asyncio.gather(*(recent.after(0, 20) for _ in range(5)), return_exceptions=True)
    assert {type(error) for error in told} == {ConnectionError}
    log.refuses = False
    assert [found.seq for found in await recent.after(0, 20)] == [1, 2, 3]


@pytest.mark.anyio
async def test_recent_events_log_nothing_about_a_failed_query_without_waiters(caplog):
    begun, may_fail = asyncio.Event(), asyncio.Event()

    async def read(after: int, most: int) -> list[EventFrame]:
        begun.set()
        await may_fail.wait()
        raise ConnectionError

    others = asyncio.all_tasks()
    leaver = asyncio.create_task(RecentEvents(read).after(0, 20))
    await begun.wait()
    (reading,) = asyncio.all_tasks() - others - {leaver}
    leaver.cancel()
    await asyncio.wait([leaver])
    may_fail.set()
    await asyncio.wait([reading])
    del reading, leaver
    gc.collect()
    assert caplog.records == []


@pytest.mark.anyio
async def test_recent_events_keep_a_bounded_number():
    log = Log(random.Random(2))
    log.last = 4 * MAX_EVENTS
    recent = RecentEvents(log.read)
    await follow(recent, log, log.last)
    log.readings.clear()
    await recent.after(log.last - MAX_EVENTS // 2, 20)
    assert log.readings == []
    await recent.after(log.last - 2 * MAX_EVENTS, 20)
    assert log.readings == [log.last - 2 * MAX_EVENTS]


@pytest.mark.anyio
async def test_recent_events_give_waiters_the_whole_of_a_page_larger_than_they_keep():
    rows = 50
    log = Log(random.Random(3), MAX_CHARACTERS // 10)
    log.last = rows
    recent = RecentEvents(log.read)
    read = await asyncio.gather(*(recent.after(0, most) for most in (rows, rows, 7)))
    assert [[found.seq for found in page] for page in read] == [
        list(range(1, most + 1)) for most in (rows, rows, 7)
    ]
    assert log.readings == [0]
    await recent.after(rows - 10, 20)
    assert log.readings == [0]
    await recent.after(rows - 11, 20)  # what is before the last ten is not kept
    assert log.readings == [0, rows - 11]


@pytest.fixture
def readings(monkeypatch) -> list[int]:
    """Behind which numbers the database was read."""
    found: list[int] = []

    async def counted(conversation_id: UUID, after: int, most: int) -> list[EventFrame]:
        found.append(after)
        return await database.events_after(conversation_id, after, most)

    monkeypatch.setattr(pages, "events_after", counted)
    return found


@pytest.mark.django_db(transaction=True)
def test_event_that_many_pages_wait_for_is_read_once(chat, readings):
    with running(application()) as server, ExitStack() as open_pages:
        headers = session(server, chat.owner)
        watching = [
            open_pages.enter_context(conversation_page(server, chat.id, headers))
            for _ in range(PAGES)
        ]
        for page in watching:
            page.until("ready")
        readings.clear()
        for _ in range(ROWS):
            last = chat.say()
        for page in watching:
            page.until(lambda frame: frame["seq"] == last)
            assert page.seqs == list(range(1, last + 1))
    assert len(readings) <= 2 * ROWS  # each page for itself: twelve times as many


@pytest.mark.django_db(transaction=True)
def test_announced_event_that_does_not_exist_is_looked_for_once(chat, readings):
    topic = conversation_topic(chat.id)
    with (
        running(application()) as server,
        conversation_page(server, chat.id, session(server, chat.owner)) as page,
    ):
        page.until("ready")
        readings.clear()
        get_bus().announce(topic, 10**6)
        for n in range(10):
            event = events.ToolProgressed(call_id="t1", offset=n, text="x")
            frame = {"type": event.type, "seq": None, "source": "agent", "turn": 1, "at": ""}
            get_bus().live(topic, frame | {"data": event.payload()})
            page.until(event.type)
        last = chat.say()
        page.until(lambda frame: frame["seq"] == last)
    assert len(readings) == 2


@pytest.mark.django_db(transaction=True)
def test_page_opened_after_a_restore_gets_the_restored_log_while_another_still_watches(chat):
    with running(application()) as server:
        headers = session(server, chat.owner)

        def newcomer_sees() -> str:
            with conversation_page(server, chat.id, headers) as page:
                page.until("ready")
            return page.frames[-2]["data"]["text"]

        with conversation_page(server, chat.id, headers) as page:
            page.until("ready")
            kept = chat.say()
            chat.say(2, text="said after the backup")
            page.until(lambda frame: frame["seq"] == kept + 2)
            restore(chat.id, kept)
            chat.say(text="said after it was restored")
            end = time.monotonic() + 30
            while newcomer_sees() != "said after it was restored 0":
                assert time.monotonic() < end


def restore(conversation_id: UUID, last: int) -> None:
    """The log as it was at that number. Only of a conversation that is deleted does the database let go."""
    of_it = Conversation.objects.filter(pk=conversation_id)
    of_it.update(deleted_at=timezone.now())
    Event.objects.filter(conversation=conversation_id, seq__gt=last).delete()
    of_it.update(deleted_at=None, next_seq=last + 1)
