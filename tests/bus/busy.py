"""What the tests of the bus share: a worker that has room, and waiting."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from paca.bus.base import EntryResult, EntryStatus


@dataclass
class RecordingHandler:
    """A worker's side of the queue; keeps what it was asked to take in."""

    most: int = 10
    result: EntryResult = EntryResult(EntryStatus.ACCEPTED)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def capacity(self) -> int:
        return self.most

    def handle(self, entry_id: str, fields: Mapping[str, str]) -> EntryResult:
        self.asked.append((entry_id, dict(fields)))
        return self.result


async def until(condition: Callable[[], object], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - conditions of any kind, also of other threads
            await asyncio.sleep(0.002)
