"""Property: messages, their changes and withdrawals, stops, interrupts, pauses, kills and take-overs, in any order: one turn answers each message.

The store, the inbox, the worker's turns and the engine are the real ones. Only the model is scripted. Other
people and other workers act between any two transactions, and between any two pieces of a reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from paca import events
from paca.conversations import event_log, services
from paca.conversations.models import Conversation
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.engine.turn import OpenedModel
from paca.sandbox.manager import SandboxManager
from paca.worker import claim
from paca.worker.agent_model import AgentModels
from paca.worker.control_protocol import pending_requests
from paca.worker.turns import ConversationRun, WorkerResources
from tests.support.model_script import calls, says
from tests.support.scripted_llm import ScriptedLLM
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db(transaction=True)

REPLIES = {"answer": says("A whole answer."), "step": says("I think.") + calls(think="Hm.")}
ACTIONS = (
    *("message", "message", "edit", "withdraw", "interrupt", "stop", "pause", "continue"),
    *("deliver", "kill"),
)
# Each action comes after so many chances to act.
STEPS = st.tuples(st.integers(0, 5), st.sampled_from(ACTIONS))


class Killed(BaseException):
    """The worker process is dead: nothing after this is executed."""


class Interleaving:
    """One conversation, its workers and its people. ``chance`` is called wherever others may act."""

    def __init__(
        self, here: World, steps: list[tuple[int, str]], replies: list[str], folder: Path
    ) -> None:
        self._script = [act for wait, action in steps for act in [*["rest"] * wait, action]]
        self._replies = replies
        self._manager = SandboxManager(kind="none", data_dir=folder, install_id="tests")
        self._killed = False
        self._run: ConversationRun | None = None
        self.world = here
        self.llm = ScriptedLLM([self._reply] * 500)
        self.ended_until = 0
        self.sent = 1
        self.withdrawn: set[int] = set()
        self.edited: dict[int, str] = {}
        # A text that the model must not see any more, and the number of requests until then.
        self.gone: list[tuple[str, int]] = []
        sent = services.start_chat(self.world.agent, text="Message 1.", by=self.world.owner)
        self.id = sent.conversation_id

    @property
    def row(self) -> Conversation:
        return Conversation.objects.get(pk=self.id)

    # --- the worker's parts ---------------------------------------------------------------------

    async def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``Database.call``, with a chance for others after each transaction."""
        self._die_if_killed()
        result = function(*args, **kwargs)
        self.chance()
        await asyncio.sleep(0)
        self._die_if_killed()
        return result

    def _die_if_killed(self) -> None:
        if self._killed:
            raise Killed

    async def stream(self, request: Any) -> Any:
        async for chunk in self.llm.stream(request):
            self.chance()
            await asyncio.sleep(0)
            self._die_if_killed()
            yield chunk

    def _reply(self, request: object) -> Any:
        return REPLIES[self._replies.pop(0)] if self._replies else says("Done.")

    # --- what happens -----------------------------------------------------------------------------

    def chance(self) -> None:
        if self._script:
            self._act(self._script.pop(0))

    def _act(self, action: str) -> None:
        current, by = self.row, self.world.owner
        match action:
            case "message" | "interrupt" | "edit" | "withdraw":
                self._write(action)
            case "stop" if current.status in (*ACTIVE_STATUSES, "queued", "paused"):
                self.ended_until = current.last_seq
                services.stop(current, by=by)
            case "pause" if current.status in ACTIVE_STATUSES:
                services.pause(current, by=by)
            case "continue":
                services.continue_(current, by=by)
            case "deliver" if self._run is not None and not self._killed:
                for _, request in pending_requests([self.id]):
                    self._run.receive(request)
            case "kill" if self._run is not None:
                self._killed = True

    def _write(self, action: str) -> None:
        if action in ("edit", "withdraw"):
            with suppress(services.MessageTaken):
                self._change_last_message(action)
            return
        self.sent += 1
        busy = "interrupt" if action == "interrupt" else "queue"
        text = f"Message {self.sent}."
        services.send(self.row, text=text, by=self.world.owner, on_busy=busy)

    def _change_last_message(self, action: str) -> None:
        current, by = self.row, self.world.owner
        log = event_log.load_after(self.id, 0)
        seq, message = [each for each in log if isinstance(each[1], events.MessageReceived)][-1]
        before = self.edited.get(seq, message.text)
        if action == "withdraw":
            services.withdraw(current, event_seq=seq, by=by)
            self.withdrawn.add(seq)
        else:
            text = f"Change {len(log)} of message {seq}."
            services.edit(current, event_seq=seq, text=text, by=by)
            self.edited[seq] = text
        self.gone.append((before, len(self.llm.requests)))

    async def drive(self) -> None:
        """Work until nothing waits, people have acted, and every pause is left."""
        try:
            await self._drive()
        finally:
            connections.close_all()  # those of this event loop

    async def _drive(self) -> None:
        for _ in range(200):
            claimed = claim.claim("w", lease_seconds=60, limit=1)
            if claimed:
                await self._work(claimed[0])
            elif self._script:
                self.chance()
            elif self.row.status == "paused":
                self._act("continue")
            else:
                return
        raise AssertionError(f"it does not come to rest: {self.types()}")

    async def _work(self, claimed: claim.Claimed) -> None:
        run = self._run = ConversationRun(claimed, WorkerResources(self, self._manager))  # type: ignore[arg-type]
        try:
            await run.answer_inbox()
        except Killed:
            Conversation.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        finally:
            self._run, self._killed = None, False
            # A lost worker counts towards the parking of a step, which is another promise.
            Conversation.objects.update(lost_workers=0)

    # --- what must hold ---------------------------------------------------------------------------

    def types(self) -> list[str]:
        return [event.type.removeprefix("agent.") for _, event in event_log.load_after(self.id, 0)]

    def check(self) -> None:
        told = f"{self.types()} {list(self.row.triggers.values_list('kind', 'control', 'state', 'turn', 'event_seq'))}"
        assert not self.row.triggers.filter(state__in=("new", "claimed")).exists(), told
        log = event_log.load_after(self.id, 0)
        read_until = 0  # by the last call of a turn that ended with an answer
        seen = turn = 0
        for _, event in log:
            match event:
                case events.TurnStarted(number=number):
                    turn = number
                case events.UsageRecorded(outcome="done", seen_seq=seq):
                    seen = seq
                case events.TurnFinished(status="finished"):
                    own = self.row.triggers.filter(turn=turn)
                    new = own.filter(kind="continue") | own.filter(event_seq__gt=read_until)
                    assert new.exists(), f"turn {turn} answers nothing: {told}"
                    read_until = seen
        messages = [seq for seq, event in log if isinstance(event, events.MessageReceived)]
        waiting = [seq for seq in messages if seq not in self.withdrawn]
        unread = [seq for seq in waiting if seq > max(read_until, self.ended_until)]
        assert not unread, f"{unread} are not answered: {told}"
        requests = [str(request.messages) for request in self.llm.requests]
        self._check_changes(requests, read_until, told)
        texts = requests[-1] if requests else ""
        assert "Go on." not in texts or self.row.triggers.filter(kind="continue").exists(), told

    def _check_changes(self, requests: list[str], read_until: int, told: str) -> None:
        for text, known in self.gone:
            # The model has read it before only if a command gave it back to the next turn.
            if not any(text in request for request in requests[:known]):
                assert not any(text in request for request in requests[known:]), f"{text}: {told}"
        for seq, text in self.edited.items():
            if seq not in self.withdrawn and seq <= read_until:
                assert text in requests[-1], f"{text} is not known: {told}"


@pytest.fixture
def here(transactional_db: None) -> World:
    return make_world()


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    steps=st.lists(STEPS, min_size=3, max_size=14),
    replies=st.lists(st.sampled_from(sorted(REPLIES)), min_size=1, max_size=12),
)
@example(steps=[(0, "message")] * 3, replies=["step"])
@example(steps=[(0, "kill"), (0, "message"), (0, "message")], replies=["answer"])
@example(steps=[(0, "message"), (0, "stop"), (0, "message")], replies=["answer"])
@example(
    steps=[*[(0, "message")] * 2, (0, "stop"), (0, "message"), (5, "deliver")], replies=["step"]
)
@example(steps=[(3, "message"), (0, "edit"), (0, "message"), (0, "withdraw")], replies=["step"])
@example(steps=[(3, "message"), (0, "kill"), (0, "edit"), (0, "edit")], replies=["step"])
def test_each_message_is_answered_by_one_turn_in_any_interleaving(here, tmp_path, steps, replies):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        Conversation.objects.update(deleted_at=timezone.now())  # that of an example before
        story = Interleaving(here, steps, list(replies), tmp_path)
        patch.setattr(AgentModels, "open", lambda models, _: OpenedModel(models.own.profile, story))
        asyncio.run(story.drive())
        story.check()
