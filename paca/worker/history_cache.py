"""The histories of the conversations that a worker ran last, so that the next turn reads only new events."""

from collections import OrderedDict
from dataclasses import dataclass, field
from uuid import UUID

from paca.engine.context.history import History
from paca.engine.limits import TurnProgress

MAX_CONVERSATIONS = 32


@dataclass(frozen=True, slots=True)
class CachedHistory:
    """History and progress up to the event ``history.seq``. The log only grows, so they stay true.

    ``seen_files``: path to digest of the files that the model has read, as it knows them.
    """

    history: History = History()
    progress: TurnProgress = TurnProgress()
    seen_files: dict[str, str] = field(default_factory=dict)


class HistoryCache:
    """The cached histories by conversation. The least recently used is dropped first."""

    def __init__(self) -> None:
        self._entries: OrderedDict[UUID, CachedHistory] = OrderedDict()

    def put(self, conversation_id: UUID, cached: CachedHistory) -> None:
        """Keep the history at which a run ended."""
        self._entries[conversation_id] = cached
        self._entries.move_to_end(conversation_id)
        while len(self._entries) > MAX_CONVERSATIONS:
            self._entries.popitem(last=False)

    def pop(self, conversation_id: UUID) -> CachedHistory:
        """Remove and return the history of a conversation, or an empty one."""
        return self._entries.pop(conversation_id, CachedHistory())
