"""All database calls of sockets, and the queries of the relay."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar
from uuid import UUID

from channels.db import database_sync_to_async

from paca.common import database_threads
from paca.common.frames import StoredEvent
from paca.conversations import event_log
from paca.conversations.models import Conversation
from paca.realtime.live_text import ENDED_BY
from paca.realtime.recent_events import EventFrame

P = ParamSpec("P")
T = TypeVar("T")

# A pool of our own: in Django's single thread one slow query would delay every socket.
_executor = ThreadPoolExecutor(
    max_workers=database_threads.SOCKETS, thread_name_prefix="sockets-database"
)


async def in_database(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function in a database thread. Stale connections are closed before and after.

    Raises what the function raises.
    """
    call = database_sync_to_async(function, thread_sensitive=False, executor=_executor)
    result: T = await call(*args, **kwargs)
    return result


def read_latest_seqs(conversation_ids: list[UUID]) -> dict[UUID, int]:
    """The last ``seq`` of each conversation's log. Runs in a database thread."""
    rows = Conversation.objects.filter(id__in=conversation_ids).values_list("id", "next_seq")
    return {key: next_seq - 1 for key, next_seq in rows}


async def latest_seqs(conversation_ids: list[UUID]) -> dict[UUID, int]:
    """The last ``seq`` of each conversation's log."""
    return await in_database(read_latest_seqs, conversation_ids)


async def events_after(conversation_id: UUID, after: int, limit: int) -> list[EventFrame]:
    """At most ``limit`` events with a ``seq`` above ``after``, in order and encoded."""
    return await in_database(_read_events_after, conversation_id, after, limit)


def _read_events_after(conversation_id: UUID, after: int, limit: int) -> list[EventFrame]:
    return [_event_frame(event) for event in event_log.page_after(conversation_id, after, limit)]


def _event_frame(event: StoredEvent) -> EventFrame:
    # Only an event that ends live text is decoded, for its call id.
    call_id = str(event.data().get("call_id", "")) if event.type in ENDED_BY else ""
    return EventFrame(event.seq, event.type, call_id, event.frame())
