"""A conversation that waits for its helpers, as a worker leaves it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from paca import events
from paca.conversations import store
from paca.conversations.models import Conversation
from paca.conversations.services import helpers
from paca.conversations.store import Lease
from paca.engine.helpers.requests import HelpersRequested, Piece
from paca.engine.turn import TurnOutcome
from paca.worker import claim, helper_wait, turn_end
from tests.conversations.chat import Chat
from tests.support.frames import frames_of

ANSWERED = TurnOutcome("finished", "answered")

PIECES = (("code", "Write it"), ("explore", "Look at it"))


class Helping:
    """A call of ``delegate`` that waits for ``pieces``, in a chat of its own."""

    def __init__(
        self,
        pieces: tuple[tuple[str, str], ...] = PIECES,
        *,
        before: tuple[str, ...] = (),
        facts: tuple[events.Event, ...] = (),
        allowance: dict[str, Any] | None = None,
        **agent: Any,
    ) -> None:
        """``before``: what people do before the wait. ``facts``: events of the turn."""
        self.chat = Chat(**agent)
        self.id = UUID(self.chat.start("Split it")["conversation"])
        self.call_id = uuid4().hex
        self.request = HelpersRequested(
            self.call_id, tuple(Piece(kind=kind, task=task) for kind, task in pieces)
        )
        called = events.ToolCalled(call_id=self.call_id, tool="delegate", arguments={})
        self.allowance = allowance
        self.lease: Lease = self.chat.start_turn(str(self.id), *facts, called)
        for action in before:
            self.act(action)
        self.paused_by = self.wait()

    def wait(self) -> str | None:
        return helper_wait.begin(self.lease, [], self.request, allowance=self.allowance)

    def act(self, action: str, **body: Any) -> Any:
        answer = self.chat.api.post(self.chat.url(self.id, f"{action}/"), body)
        assert answer.status_code in (200, 202), answer.data
        return answer

    @property
    def row(self) -> Conversation:
        return Conversation.objects.get(pk=self.id)

    @property
    def status(self) -> str:
        return f"{self.row.status}/{self.row.reason}"

    @property
    def helpers(self) -> list[Conversation]:
        return list(Conversation.objects.filter(parent=self.id).order_by("piece"))

    def claim(self) -> list[UUID]:
        """Let a worker claim what it may; gives the conversations."""
        claims = claim.claim("other", lease_seconds=60, limit=20)
        return [each.lease.conversation_id for each in claims]

    def finish(self, index: int, text: str = "Report.", outcome: TurnOutcome = ANSWERED) -> None:
        """Let a helper that was claimed answer and end, and let the sweep tell it."""
        helper = self.helpers[index]
        lease = Lease(helper.pk, helper.lease_owner, helper.lease_epoch)
        store.append(helper.pk, events.MessageSpoken(text=text), lease=lease)
        turn_end.end_turn(lease, [], outcome, steps=1)
        helpers.settle_due()

    def obey(self, index: int, outcome: TurnOutcome) -> None:
        """Let the worker of a helper end its turn like this."""
        helper = self.helpers[index]
        lease = Lease(helper.pk, helper.lease_owner, helper.lease_epoch)
        turn_end.end_turn(lease, [], outcome, steps=1)
        helpers.settle_due()

    def data(self, kind: str) -> list[dict[str, Any]]:
        """The facts of the events of this type."""
        return [f["data"] for f in frames_of(self.id) if f["type"] == f"agent.{kind}"]
