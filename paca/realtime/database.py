"""The one way from a socket to the database, and what the relay asks it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar
from uuid import UUID

from channels.db import database_sync_to_async

from paca.common import database_threads
from paca.conversations import selectors
from paca.conversations.models import Conversation
from paca.realtime import protocol
from paca.realtime.live_text import Frame
from paca.realtime.recent_events import Row

P = ParamSpec("P")
T = TypeVar("T")

# A pool of our own: in Django's single thread one slow query would hold up every socket.
_executor = ThreadPoolExecutor(
    max_workers=database_threads.SOCKETS, thread_name_prefix="sockets-database"
)


async def in_database(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do the work in a database thread; it drops stale connections before and after."""
    crossing = database_sync_to_async(work, thread_sensitive=False, executor=_executor)
    found: T = await crossing(*args, **kwargs)
    return found


def newest_now(conversation_ids: list[UUID]) -> dict[UUID, int]:
    """The last number of each conversation's log. Runs in a database thread."""
    rows = Conversation.objects.filter(id__in=conversation_ids).values_list("id", "next_seq")
    return {key: next_seq - 1 for key, next_seq in rows}


async def newest_of(conversation_ids: list[UUID]) -> dict[UUID, int]:
    """The last number of each conversation's log."""
    return await in_database(newest_now, conversation_ids)


async def rows_after(conversation_id: UUID, after: int, most: int) -> list[Row]:
    """Rows of a log with numbers above ``after``, in order, so many at most, ready to be sent."""
    return await in_database(_rows_after, conversation_id, after, most)


def _rows_after(conversation_id: UUID, after: int, most: int) -> list[Row]:
    return [_row(frame) for frame in selectors.frames_after(conversation_id, after, most)]


def _row(frame: Frame) -> Row:
    call_id = str(frame["data"].get("call_id", ""))
    return Row(frame["seq"], frame["type"], call_id, protocol.encode(frame))
