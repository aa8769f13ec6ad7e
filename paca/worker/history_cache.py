"""What the logs of the last few conversations came to, so that the next turn reads only what is new."""

from collections import OrderedDict
from dataclasses import dataclass, field
from uuid import UUID

from paca.engine.context.history import History
from paca.engine.limits import TurnProgress

MOST_KEPT = 32


@dataclass(frozen=True, slots=True)
class Fold:
    """History and progress up to ``history.seq``. The log only grows: what is folded stays true.

    ``seen_files``: path to digest of the files that the model has read here, as it knows them.
    """

    history: History = History()
    progress: TurnProgress = TurnProgress()
    seen_files: dict[str, str] = field(default_factory=dict)


class Folds:
    """The folds of the conversations this worker ran last; the oldest goes first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[UUID, Fold] = OrderedDict()

    def keep(self, conversation_id: UUID, fold: Fold) -> None:
        """Remember where a run ended."""
        self._kept[conversation_id] = fold
        self._kept.move_to_end(conversation_id)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def take(self, conversation_id: UUID) -> Fold:
        """Where the last run of it here ended, or the empty fold."""
        return self._kept.pop(conversation_id, Fold())
