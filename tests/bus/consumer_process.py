"""A worker's side of the queue in a process of its own, for tests that kill it: ``python -m ... URL FATE``."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping

from paca.bus.base import Fate, Verdict
from paca.bus.redis.bus import RedisBus


class Intake:
    """Says what it was asked to take in, then dies of it or lets it wait."""

    def __init__(self, end: str) -> None:
        self._end = end

    def room(self) -> int:
        return 1

    def take_in(self, entry_id: str, fields: Mapping[str, str]) -> Verdict:
        print(entry_id, flush=True)
        if self._end == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        return Verdict(Fate.LATER)


async def main(url: str, end: str) -> None:
    bus = RedisBus(url, abandoned_seconds=0.3)
    async with bus.work(lambda _: None, Intake(end)):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
