"""What the log says about the model that answers: the effort of the turn's messages, and the fallback.

It is a fold over the log, so a worker that takes the turn over makes the same choice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paca import events
from paca.events import Event

QUICK, STANDARD, DETERMINED = EFFORTS = ("quick", "standard", "determined")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What is asked of the worker: the model of an effort, or the fallback.

    ``shared_key``: without the key of the person who began the turn, since another one has written in it too.
    """

    effort: str = STANDARD
    fallback: bool = False
    shared_key: bool = False


OWN_MODEL = ModelChoice()


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A message of a turn: the number of its event, its effort and the member who wrote it."""

    seq: int
    effort: str
    author_id: str


@dataclass(frozen=True, slots=True)
class ModelState:
    """What the log says about the choice of the model.

    ``messages`` are those of the turn and those that wait for the next one; ``seen_seq`` is the last event that a
    model was sent, and ``turn_seq`` the one that began the turn. ``fallback_since`` is why the turn goes on with the fallback, empty if it does not, and
    ``fallback_code`` the code of that error.
    ``unsure_until``: until then, in seconds since 1970, the own model is asked once and not again, because it has
    just failed.
    """

    messages: tuple[ReadMessage, ...] = ()
    seen_seq: int = 0
    turn_seq: int = 0
    fallback_since: str = ""
    fallback_code: str = ""
    unsure_until: float = 0.0

    def advance(self, event: Event, seq: int) -> ModelState:
        """The state after one more event, whose number is ``seq``; the same object if nothing changes."""
        match event:
            case events.MessageReceived():
                message = ReadMessage(seq, event.effort or STANDARD, event.author_id)
                return replace(self, messages=(*self.messages, message))
            case events.MessageWithdrawn(event_seq=taken):
                left = tuple(each for each in self.messages if each.seq != taken)
                return replace(self, messages=left)
            case events.UsageRecorded(seen_seq=seen) if seen > self.seen_seq:
                return replace(self, seen_seq=seen)
            case events.ModelSwitched():
                return replace(
                    self,
                    fallback_since=event.cause or event.code,
                    fallback_code=event.code,
                    unsure_until=event.until,
                )
            case events.TurnStarted() | events.ConversationForked():
                return self._begin_turn(seq)
        return self

    def _begin_turn(self, seq: int) -> ModelState:
        """The next turn tries the own model again. Without a new message it goes on with what it was asked."""
        unread = tuple(each for each in self.messages if each.seq > self.seen_seq)
        return replace(self, messages=unread or self.messages, turn_seq=seq, fallback_since="")

    @property
    def effort(self) -> str:
        """The strongest effort of the turn's messages: none of them is answered with less than it asks for."""
        # guard: effort-strongest-message-wins
        return max((each.effort for each in self.messages), key=_rank, default=STANDARD)

    def has_other_author(self, member_id: str) -> bool:
        """Whether somebody other than this member has written since the turn began.

        Whoever has written before it has begun the turn too, which the worker knows, or an earlier one that is
        only gone on with.
        """
        since = (each for each in self.messages if each.seq > self.turn_seq)
        return any(each.author_id != member_id for each in since)


def _rank(effort: str) -> int:
    """The place of an effort in their order; an unknown one of a later version counts as standard."""
    return EFFORTS.index(effort if effort in EFFORTS else STANDARD)
