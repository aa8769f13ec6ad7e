"""While a disk stays full, entries that begin work wait, and entries that end work do not."""

import pytest

from paca.bus.base import STOP, EntryResult, EntryStatus
from tests.bus.helpers import RecordingHandler
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

STREAM, GROUP = "paca:agent:triggers", "ai-agent-workers"
REQUEST = {"type": "agent.chat_message", "message": "Hello"}


class FullDiskHandler(RecordingHandler):
    """A handler that had capacity when the batch was read. Then the disk is full, and only stops pass."""

    def handle(self, entry_id, fields):
        super().handle(entry_id, fields)
        if fields["type"] == STOP or self.result.status is not EntryStatus.RETRY_LATER:
            return EntryResult(EntryStatus.ACCEPTED)
        self.free_capacity = 0
        return self.result


async def test_stops_behind_an_entry_that_waits_for_disk_space_are_handled(valkey, connect):
    full = FullDiskHandler(result=EntryResult(EntryStatus.RETRY_LATER))
    with valkey.client() as program:
        program.xadd(STREAM, REQUEST)
        in_batch = program.xadd(STREAM, {"type": STOP, "conversation_id": "a"})
        async with connect(valkey).consume_triggers(lambda _: None, full):
            await until(lambda: full.free_capacity == 0)
            behind = program.xadd(STREAM, {"type": STOP, "conversation_id": "b"})
            await until(lambda: {in_batch, behind} <= {handled for handled, _ in full.handled})
            assert program.xpending(STREAM, GROUP)["pending"] == 2
            full.free_capacity, full.result = 10, EntryResult(EntryStatus.ACCEPTED)
            await until(lambda: program.xinfo_groups(STREAM)[0]["lag"] == 0)
            await until(lambda: program.xpending(STREAM, GROUP)["pending"] == 0)
