"""A trigger handler that records, for the tests of the bus."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from paca.bus.base import EntryResult, EntryStatus


@dataclass
class RecordingHandler:
    """A trigger handler that records its calls and always gives the same result."""

    free_capacity: int = 10
    result: EntryResult = EntryResult(EntryStatus.ACCEPTED)
    handled: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def capacity(self) -> int:
        return self.free_capacity

    def handle(self, entry_id: str, fields: Mapping[str, str]) -> EntryResult:
        self.handled.append((entry_id, dict(fields)))
        return self.result
