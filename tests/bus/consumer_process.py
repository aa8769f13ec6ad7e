"""A worker's side of the queue in a process of its own, for tests that kill it: ``python -m ... URL FATE``."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping

from paca.bus.base import EntryResult, EntryStatus
from paca.bus.redis.bus import RedisBus


class PrintingHandler:
    """Says what it was asked to take in, then dies of it or lets it wait."""

    def __init__(self, end: str) -> None:
        self._end = end

    def capacity(self) -> int:
        return 1

    def handle(self, entry_id: str, fields: Mapping[str, str]) -> EntryResult:
        print(entry_id, flush=True)
        if self._end == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        return EntryResult(EntryStatus.RETRY_LATER)


async def main(url: str, end: str) -> None:
    bus = RedisBus(url, abandoned_seconds=0.3)
    async with bus.consume_triggers(lambda _: None, PrintingHandler(end)):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
