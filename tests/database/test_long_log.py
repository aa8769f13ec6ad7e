"""T-47: a log of 5,000 events, 20 of them large, opens at its end and is paged back by index."""

import gc
import json
import tracemalloc
from typing import Any

import pytest
from django.db import connection

from paca import events
from paca.conversations import event_log, store
from paca.conversations.models import Event
from tests.conversations.chat import Chat

EVENTS = 5_000
LARGE_BYTES = 100_000
LARGE_EVERY = EVENTS // 20
# A page of 200 events may have one large payload, which is copied into the response.
PAGE_MEMORY_BYTES = 3_000_000


@pytest.fixture
def long_log(db: None) -> tuple[Chat, Any]:
    """The chat, and the id of its conversation with 5,000 events."""
    chat = Chat()
    started = chat.start()["conversation"]
    written = chat.row(started).last_seq
    while written < EVENTS:
        batch = range(written + 1, min(written + 250, EVENTS) + 1)
        store.append(chat.row(started).pk, *[event(number) for number in batch])
        written = batch[-1]
    return chat, started


def event(number: int) -> events.MessageSpoken:
    size = LARGE_BYTES if number % LARGE_EVERY == 0 else 40
    return events.MessageSpoken(text=f"{number} ".ljust(size, "x"))


def read(chat: Chat, conversation: Any, query: str) -> list[dict[str, Any]]:
    found = chat.api.get(chat.url(conversation, f"events/?limit=200{query}"))
    return list(found.json()["results"])


def test_log_pages_back_to_the_first_have_every_event_once(long_log):
    chat, conversation = long_log
    seen = [frame["seq"] for frame in read(chat, conversation, "")]
    while seen[0] > 1:
        seen[:0] = [frame["seq"] for frame in read(chat, conversation, f"&before={seen[0]}")]
    assert seen == [*range(1, EVENTS + 1)]


@pytest.mark.parametrize("query", ["", "&before=2501", "&before=202", "&after=0"])
def test_log_page_takes_its_own_memory_and_not_that_of_the_log(long_log, query):
    chat, conversation = long_log
    read(chat, conversation, query)  # modules and caches that are loaded once
    gc.collect()
    tracemalloc.start()
    try:
        assert read(chat, conversation, query)
        assert tracemalloc.get_traced_memory()[1] < PAGE_MEMORY_BYTES
    finally:
        tracemalloc.stop()


def test_newest_page_reads_no_large_payload_outside_it(long_log, django_assert_num_queries):
    chat, conversation = long_log
    with django_assert_num_queries(5) as counted:
        newest = chat.api.get(chat.url(conversation, "events/?limit=50")).json()
    assert [frame["seq"] for frame in newest["results"]] == [*range(EVENTS - 49, EVENTS + 1)]
    (log,) = [query["sql"] for query in counted.captured_queries if "_event" in query["sql"]]
    assert "LIMIT 50" in log


@pytest.mark.parametrize(
    "ask",
    [
        lambda key: event_log.newest_page(key, 200),
        lambda key: event_log.page_before(key, 2_500, 200),
        lambda key: event_log.page_before(key, 150, 200),
        lambda key: event_log.page_after(key, 4_990, 200),
    ],
    ids=["the newest", "before the middle", "before the first page", "after a number"],
)
def test_log_page_is_read_by_the_index(long_log, django_assert_num_queries, ask):
    chat, conversation = long_log
    for _ in range(3):  # other logs, so that a scan would show
        other = chat.start()["conversation"]
        store.append(chat.row(other).pk, *[events.MessageSpoken(text="y")] * 500)
    with django_assert_num_queries(1) as counted:
        found = ask(conversation)
    plan = explained(counted.captured_queries[0]["sql"])
    assert "event_seq_is_unique_in_conversation" in plan or "USING INDEX" in plan, plan
    assert "Seq Scan on conversations_event" not in plan, plan
    assert "SCAN conversations_event" not in plan, plan
    assert found


def explained(statement: str) -> str:
    """The query plan of the statement. PostgreSQL also runs it and counts the rows it read."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}")
            return "\n".join(str(row[-1]) for row in cursor.fetchall())
        cursor.execute("ANALYZE conversations_event")
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
        plan = cursor.fetchone()[0]
        found = json.dumps(plan)
        assert touched(plan[0]["Plan"]) <= 200, found
        return found


def touched(node: dict[str, Any]) -> int:
    """The number of event rows that the plan read, including those it filtered out."""
    own = 0
    if node.get("Relation Name") == Event._meta.db_table:
        own = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    return int(own) + sum(touched(child) for child in node.get("Plans", []))


def test_message_to_a_long_log_is_stored_without_reading_the_log(
    long_log, django_assert_max_num_queries
):
    chat, conversation = long_log
    with django_assert_max_num_queries(20) as counted:
        sent = chat.api.post(chat.url(conversation, "messages/"), {"text": "One more"})
    assert sent.status_code == 202
    assert sent.data["event_seq"] == EVENTS + 1
    asked = [query["sql"] for query in counted.captured_queries]
    assert not [sql for sql in asked if sql.startswith("SELECT") and "conversations_event" in sql]
