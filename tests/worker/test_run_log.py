"""The log of a run reads exactly as far as it is told."""

import asyncio

import pytest

from paca import events
from paca.bus import get_bus
from paca.conversations import store
from paca.worker.database import Database
from paca.worker.run_log import CachedHistory, RunLog
from paca.worker.stream_buffer import StreamBuffer
from tests.conversations.chat import Chat

pytestmark = pytest.mark.django_db(transaction=True)


def test_message_behind_the_start_of_a_model_call_is_not_read_by_it():
    chat = Chat()
    lease = chat.start_turn(chat.start("First")["conversation"])
    read_until = chat.row(lease.conversation_id).last_seq
    store.append(lease.conversation_id, events.MessageReceived(text="Second"))
    database = Database()
    buffer = StreamBuffer(lease.conversation_id, get_bus())
    log = RunLog(lease, CachedHistory(), [], database=database, stream_buffer=buffer)
    try:
        asyncio.run(log.catch_up(until=read_until))
        assert log.history.seq == read_until
        assert "Second" not in str(log.history.messages())
        asyncio.run(log.catch_up())
        assert "Second" in str(log.history.messages())
    finally:
        database.close()
