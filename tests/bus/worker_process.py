"""A process that reads the trigger stream, for tests that kill it: ``python -m ... URL dies|waits``."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping

from paca.bus.base import EntryResult, EntryStatus
from paca.bus.redis.bus import RedisBus


class PrintingHandler:
    """Prints the id of each entry. Then it kills its process, or lets the entry wait."""

    def __init__(self, behaviour: str) -> None:
        self._behaviour = behaviour

    def capacity(self) -> int:
        return 1

    def handle(self, entry_id: str, fields: Mapping[str, str]) -> EntryResult:
        print(entry_id, flush=True)
        if self._behaviour == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        return EntryResult(EntryStatus.RETRY_LATER)


async def main(url: str, behaviour: str) -> None:
    bus = RedisBus(url, abandoned_seconds=0.3)
    async with bus.consume_triggers(lambda _: None, PrintingHandler(behaviour)):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
