"""A disk that stays full holds up what begins work, and nothing that ends it."""

import pytest

from paca.bus.base import STOP, EntryResult, EntryStatus
from tests.bus.busy import RecordingHandler, until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

STREAM, GROUP = "paca:agent:triggers", "ai-agent-workers"
REQUEST = {"type": "agent.chat_message", "message": "Hello"}


class Full(RecordingHandler):
    """It had room when it read, and then the disk was full for all but stops."""

    def handle(self, entry_id, fields):
        super().handle(entry_id, fields)
        if fields["type"] == STOP or self.result.status is not EntryStatus.RETRY_LATER:
            return EntryResult(EntryStatus.ACCEPTED)
        self.most = 0
        return self.result


async def test_stops_behind_what_waits_for_room_are_heard_in_hand_or_not(valkey, connect):
    full = Full(result=EntryResult(EntryStatus.RETRY_LATER))
    with valkey.client() as program:
        program.xadd(STREAM, REQUEST)
        in_hand = program.xadd(STREAM, {"type": STOP, "conversation_id": "a"})
        async with connect(valkey).consume_triggers(lambda _: None, full):
            await until(lambda: full.most == 0)
            behind = program.xadd(STREAM, {"type": STOP, "conversation_id": "b"})
            await until(lambda: {in_hand, behind} <= {asked for asked, _ in full.asked})
            assert program.xpending(STREAM, GROUP)["pending"] == 2
            full.most, full.result = 10, EntryResult(EntryStatus.ACCEPTED)
            await until(lambda: program.xinfo_groups(STREAM)[0]["lag"] == 0)
            await until(lambda: program.xpending(STREAM, GROUP)["pending"] == 0)
