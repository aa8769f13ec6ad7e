"""The stream of results: what became of each entry of another program."""

import pytest

from paca.bus.base import EntryResult, EntryStatus
from paca.bus.redis import names
from tests.bus.helpers import RecordingHandler
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

CONVERSATION = "0b6e7f0a-0000-4000-8000-000000000000"
REQUEST = {
    "type": "agent.chat_message",
    "conversation_id": CONVERSATION.upper(),
    "client_id": "build-7",
    "message": "A text that no result repeats",
}
REPEATED = {"type": REQUEST["type"], "client_id": "build-7"}


@pytest.fixture
def program(valkey):
    with valkey.client() as client:
        yield client


def results(program) -> list[dict[str, str]]:
    return [fields for _, fields in program.xrange(names.TRIGGER_RESULTS)]


async def test_accepted_entry_leaves_the_stream_with_a_result(valkey, program, connect):
    facts = {"conversation_id": CONVERSATION}
    handler = RecordingHandler(result=EntryResult(EntryStatus.ACCEPTED, facts=facts))
    entry = program.xadd(names.TRIGGERS, REQUEST)
    async with connect(valkey).consume_triggers(lambda _: None, handler):
        await until(lambda: results(program))
        await until(lambda: program.xlen(names.TRIGGERS) == 0)
    assert results(program) == [{"entry_id": entry, "status": "accepted", **REPEATED, **facts}]


async def test_refused_entry_has_a_result_with_reason_and_code(valkey, program, connect):
    why = EntryResult(EntryStatus.REJECTED, "There is no such agent.", "trigger_refused")
    entry = program.xadd(names.TRIGGERS, REQUEST)
    async with connect(valkey).consume_triggers(lambda _: None, RecordingHandler(result=why)):
        await until(lambda: results(program))
        await until(lambda: program.xlen(names.TRIGGERS) == 0)
    assert results(program) == [
        {
            "entry_id": entry,
            "status": "refused",
            **REPEATED,
            "conversation_id": REQUEST["conversation_id"],
            "code": "trigger_refused",
            "reason": "There is no such agent.",
        }
    ]


async def test_result_names_the_first_id_of_a_requeued_entry(valkey, program, connect):
    """Its worker stopped while the database was away, and gave it to another worker."""
    entry = program.xadd(names.TRIGGERS, REQUEST)
    for _ in range(2):
        waiting = RecordingHandler(result=EntryResult(EntryStatus.RETRY_LATER))
        async with connect(valkey).consume_triggers(lambda _: None, waiting):
            await until(lambda waiting=waiting: waiting.handled)
        assert program.xlen(names.TRIGGERS) == 1
    refusing = RecordingHandler(result=EntryResult(EntryStatus.REJECTED, "No.", "trigger_refused"))
    async with connect(valkey).consume_triggers(lambda _: None, refusing):
        await until(lambda: results(program))
    assert results(program)[0]["entry_id"] == entry
    ((_, dead),) = program.xrange(names.DEAD_TRIGGERS)
    assert dead == {**REQUEST, "reason": "No.", "entry_id": entry}


async def test_entry_that_names_no_ids_has_a_result_too(valkey, program, connect):
    entry = program.xadd(names.TRIGGERS, {"hello": "world"})
    why = EntryResult(EntryStatus.REJECTED, "type is missing.", "trigger_refused")
    async with connect(valkey).consume_triggers(lambda _: None, RecordingHandler(result=why)):
        await until(lambda: results(program))
    assert results(program) == [
        {"entry_id": entry, "status": "refused", "code": why.code, "reason": why.reason}
    ]
