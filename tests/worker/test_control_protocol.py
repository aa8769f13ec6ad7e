"""A running conversation obeys the control protocol: each request in each phase, and two at once."""

import asyncio
import threading
from collections.abc import Iterator
from uuid import uuid4

import pytest

from paca import events
from paca.conversations import services
from paca.conversations.models import Conversation
from paca.engine.turn import ActiveTurn, ModelCallStarted, TurnOutcome, TurnServices
from paca.sandbox.manager import SandboxManager
from paca.worker import claim, turn_end, turns
from paca.worker.control_protocol import (
    EFFECTS,
    RELEASE,
    Action,
    ControlRequest,
    Effect,
    Phase,
    pending_requests,
    stronger,
)
from paca.worker.database import Database
from paca.worker.turns import ConversationRun, WorkerResources
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)

ANSWERED = TurnOutcome("finished", "answered")
PAUSED = TurnOutcome("paused", "by_person")
STATUS_AFTER = {
    Action.PAUSE: "paused/by_person",
    Action.INTERRUPT: "stopped/interrupted",
    Action.STOP: "stopped/by_person",
    Action.RELEASE: "running/",
}
WITHOUT_EFFECT = "finished/answered"
DURING_ENGINE = (Phase.MODEL_CALL, Phase.TOOL_CALLS)


class ScriptedEngine:
    """Stands in for the engine: comes into a phase, receives requests there, and records its end."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self.requests: list[ControlRequest] = []
        self.run: ConversationRun | None = None
        self.phase_found: Phase | None = None
        self.starts = 0
        self.was_cancelled = False
        self.was_paused = False

    def send(self) -> None:
        assert self.run is not None
        self.phase_found = self.run.phase
        for request in self.requests:
            self.run.receive(request)
        self.requests = []

    async def run_until_done(self, turn: ActiveTurn, services: TurnServices) -> TurnOutcome:
        self.starts += 1
        if self.phase is Phase.TOOL_CALLS:
            await services.log.commit(*open_tool_call())
        if self.phase in DURING_ENGINE:
            self.send()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        self.was_paused = bool(turn.pause_asked_by)
        return PAUSED if self.was_paused else ANSWERED

    def effect(self) -> Effect:
        if self.was_cancelled:
            return Effect.CANCEL_ENGINE
        if self.was_paused:
            return Effect.PAUSE_AFTER_STEP
        if self.starts == 0:
            return Effect.SKIP_ENGINE
        if self.phase is Phase.ENDING and self.starts == 1:
            return Effect.SKIP_NEXT_TURN
        return Effect.LEAVE_IN_INBOX


def open_tool_call() -> list[events.Event | ModelCallStarted]:
    model_call = uuid4().hex
    return [
        ModelCallStarted(call_id=model_call, model="m"),
        events.UsageRecorded(call_id=model_call, model="m"),
        events.MessageSpoken(call_id=model_call, text="I begin."),
        events.ToolCalled(call_id=uuid4().hex, tool="bash", arguments={}, model_call_id=model_call),
    ]


def request_for(action: Action) -> ControlRequest:
    if action is Action.RELEASE:
        return RELEASE
    return ControlRequest(action, uuid4(), by="Rosa", reason="by_person", seq=9)


@pytest.fixture
def engine(monkeypatch) -> ScriptedEngine:
    scripted = ScriptedEngine()
    monkeypatch.setattr(turns, "run_until_done", scripted.run_until_done)
    return scripted


@pytest.fixture
def resources(tmp_path) -> Iterator[WorkerResources]:
    database = Database()
    yield WorkerResources(
        database, SandboxManager(kind="none", data_dir=tmp_path, install_id="tests")
    )
    database.close()


def claim_one() -> claim.Claimed:
    here = make_world()
    services.start_chat(here.agent, text="Go", by=here.owner)
    (claimed,) = claim.claim("w", lease_seconds=60, limit=1)
    return claimed


def send_while_the_turn_ends(engine: ScriptedEngine, claimed: claim.Claimed, monkeypatch) -> None:
    """A message waits too, so that a next turn follows unless the request keeps it from being run."""
    original, loop, sent = turn_end.end_turn, asyncio.get_running_loop(), threading.Event()
    conversation = Conversation.objects.select_related("session__member")

    def end_turn(*given, **named):
        if engine.requests:
            row = conversation.get(pk=claimed.lease.conversation_id)
            services.send(row, text="And this", by=row.session.member)
            loop.call_soon_threadsafe(lambda: (engine.send(), sent.set()))
            assert sent.wait(60)
        return original(*given, **named)

    monkeypatch.setattr(turn_end, "end_turn", end_turn)


def carry_out(
    engine: ScriptedEngine, resources: WorkerResources, monkeypatch, *actions: Action, phase: Phase
) -> str:
    """Run a conversation which gets these requests in this phase; returns its status and reason."""
    claimed = claim_one()
    engine.phase, engine.requests = phase, [request_for(action) for action in actions]

    async def run() -> None:
        engine.run = ConversationRun(claimed, resources)
        if phase is Phase.STARTING:
            engine.send()
        if phase is Phase.ENDING:
            send_while_the_turn_ends(engine, claimed, monkeypatch)
        await engine.run.answer_inbox()

    asyncio.run(run())
    row = Conversation.objects.get()
    assert row.lease_owner == "", "the claim is given up in any case"
    assert engine.phase_found is phase
    return f"{row.status}/{row.reason}"


EXPECTED_EFFECTS = [
    (Phase.STARTING, Action.PAUSE, Effect.LEAVE_IN_INBOX),
    (Phase.STARTING, Action.INTERRUPT, Effect.SKIP_ENGINE),
    (Phase.STARTING, Action.STOP, Effect.SKIP_ENGINE),
    (Phase.STARTING, Action.RELEASE, Effect.SKIP_ENGINE),
    (Phase.MODEL_CALL, Action.PAUSE, Effect.PAUSE_AFTER_STEP),
    (Phase.MODEL_CALL, Action.INTERRUPT, Effect.CANCEL_ENGINE),
    (Phase.MODEL_CALL, Action.STOP, Effect.CANCEL_ENGINE),
    (Phase.MODEL_CALL, Action.RELEASE, Effect.CANCEL_ENGINE),
    (Phase.TOOL_CALLS, Action.PAUSE, Effect.PAUSE_AFTER_STEP),
    (Phase.TOOL_CALLS, Action.INTERRUPT, Effect.CANCEL_ENGINE),
    (Phase.TOOL_CALLS, Action.STOP, Effect.CANCEL_ENGINE),
    (Phase.TOOL_CALLS, Action.RELEASE, Effect.CANCEL_ENGINE),
    (Phase.ENDING, Action.PAUSE, Effect.LEAVE_IN_INBOX),
    (Phase.ENDING, Action.INTERRUPT, Effect.LEAVE_IN_INBOX),
    (Phase.ENDING, Action.STOP, Effect.LEAVE_IN_INBOX),
    (Phase.ENDING, Action.RELEASE, Effect.SKIP_NEXT_TURN),
]

# The first request, the second one, and the one of the two that counts.
EXPECTED_WINNERS = [
    (Action.INTERRUPT, Action.INTERRUPT, Action.INTERRUPT),
    (Action.INTERRUPT, Action.STOP, Action.STOP),
    (Action.INTERRUPT, Action.RELEASE, Action.RELEASE),
    (Action.STOP, Action.INTERRUPT, Action.STOP),
    (Action.STOP, Action.STOP, Action.STOP),
    (Action.STOP, Action.RELEASE, Action.RELEASE),
    (Action.RELEASE, Action.INTERRUPT, Action.RELEASE),
    (Action.RELEASE, Action.STOP, Action.RELEASE),
    (Action.RELEASE, Action.RELEASE, Action.RELEASE),
]


@pytest.mark.parametrize(("phase", "action", "effect"), EXPECTED_EFFECTS)
def test_conversation_run_does_with_a_request_what_the_protocol_says(
    engine, resources, monkeypatch, phase, action, effect
):
    status = carry_out(engine, resources, monkeypatch, action, phase=phase)
    assert engine.effect() is effect
    assert status == (WITHOUT_EFFECT if effect is Effect.LEAVE_IN_INBOX else STATUS_AFTER[action])


@pytest.mark.parametrize(("first", "second", "winner"), EXPECTED_WINNERS)
def test_conversation_run_obeys_the_request_that_replaces_the_other(
    engine, resources, monkeypatch, first, second, winner
):
    status = carry_out(engine, resources, monkeypatch, first, second, phase=Phase.MODEL_CALL)
    assert status == STATUS_AFTER[winner]


def test_second_stop_names_who_stopped_the_turn():
    first, second = ControlRequest(Action.STOP, by="Rosa"), ControlRequest(Action.STOP, by="Ines")
    assert stronger(first, second) is second


def test_control_protocol_covers_every_phase_and_action():
    assert {(phase, action): effect for phase, action, effect in EXPECTED_EFFECTS} == EFFECTS


def test_pause_stored_while_the_run_starts_takes_effect_at_the_next_step(engine, resources):
    claimed = claim_one()
    row = Conversation.objects.select_related("session__member").get()
    services.pause(row, by=row.session.member)

    def pending() -> list[ControlRequest]:
        return [request for _, request in pending_requests([row.pk])]

    async def run() -> None:
        engine.run = ConversationRun(claimed, resources)
        engine.phase, engine.requests = Phase.STARTING, await asyncio.to_thread(pending)
        engine.send()
        # The command is still in the inbox, where the next sweep of the worker finds it.
        engine.phase, engine.requests = Phase.MODEL_CALL, await asyncio.to_thread(pending)
        await engine.run.answer_inbox()

    asyncio.run(run())
    assert engine.phase_found is Phase.MODEL_CALL
    row.refresh_from_db()
    assert f"{row.status}/{row.reason}" == "paused/by_person"
    assert pending() == []
