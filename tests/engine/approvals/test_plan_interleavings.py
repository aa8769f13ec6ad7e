"""Property: questions, plans, plan mode, messages, stops and dying workers, in any order, keep the laws."""

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paca import events
from paca.engine.approvals.plans import PlanState
from paca.engine.limits import TurnLimits
from paca.engine.llm import retrying
from tests.engine import test_interleavings
from tests.engine.approvals.test_interleavings import ApprovalInterleaving
from tests.engine.world import World
from tests.support.model_script import calls

REPLIES = {
    **test_interleavings.REPLIES,
    "ask": calls(ask_person={"question": "Which?"}),
    "ask and run": calls(("ask_person", {"question": "Which?"}), ("bash", {"command": "quick"})),
    "plan": calls(propose_plan={"title": "All", "steps": ["Look", "Mend"]}),
    "tick": calls(update_plan={"step": 1, "state": "done"}),
}
ACTIONS = (
    *("message", "interrupt", "stop", "continue", "finish command", "lose worker", "settle"),
    *("answer", "answer", "reject", "expire", "plan mode on", "plan mode off"),
)
STEPS = st.tuples(st.integers(0, 7), st.sampled_from(ACTIONS))


@dataclass
class PlanInterleaving(ApprovalInterleaving):
    """A conversation that asks people, and is now and then in plan mode."""

    def make_world(self) -> World:
        return World(
            *[self._reply] * 400,
            files={"a.txt": "text\n"},
            commands={"quick": "ok\n", "slow": self._start_command},
            limits=TurnLimits(steps=8),
        )

    def _reply(self, request: object):
        return REPLIES[self.replies.pop(0)] if self.replies else super()._reply(request)

    async def _act(self, action: str) -> None:
        waits = self.world.waits_for
        if action.startswith("plan mode"):
            on = action == "plan mode on"
            self.world.log.append(events.FlagsChanged(plan=on, by="Ada"))
        elif action in ("answer", "reject"):
            if waits is not None:
                self._answer(accepts=action == "answer")
        else:
            await super()._act(action)

    def _answer(self, *, accepts: bool) -> None:
        waits = self.world.waits_for
        if isinstance(waits, events.PlanProposed):
            self.world.give_plan("approve" if accepts else "reject")
        elif isinstance(waits, events.QuestionAsked):
            self.world.give_answer("That one.")
        else:
            self.world.give("approve" if accepts else "deny")

    async def _settle(self) -> None:
        """Refuse what waits, until the conversation is idle."""
        for _ in range(60):
            await test_interleavings.Interleaving._settle(self)
            if self.world.waits_for is None:
                return
            self._answer(accepts=False)
        raise AssertionError("it does not become idle")

    def check_plan_mode(self) -> None:
        """No command whose intent was stored in plan mode ran."""
        plan, held = PlanState(), set()
        commands, started, asked = set(), set(), []
        for event in self.world.log.events:
            plan = plan.advance(event)
            match event:
                case events.ToolCalled(tool="bash"):
                    commands.add(event.call_id)
                case events.QuestionAsked() | events.PlanProposed():
                    asked.append(event.call_id)
                case events.ToolStarted() if event.call_id in commands - started:
                    started.add(event.call_id)
                    held |= {event.call_id} if plan.mode else set()
                case events.ToolReturned() if event.call_id in held:
                    assert event.cause in ("refused", "cancelled"), "a command ran in plan mode"
                case events.ToolOutcomeUnknown():
                    assert event.call_id not in held, "a command may have run in plan mode"
        assert len(asked) == len(set(asked)), "nobody is asked twice"
        self.world.log.catch_up()
        assert plan == self.world.log.progress.plan


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(REPLIES)), min_size=4, max_size=16),
    st.lists(STEPS, min_size=4, max_size=24),
)
def test_no_interleaving_asks_twice_or_runs_a_command_in_plan_mode(replies, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrying, "FIRST_WAIT_SECONDS", 0.0)
        interleaving = PlanInterleaving(list(replies))
        asyncio.run(interleaving.drive(steps))
        interleaving.check_plan_mode()
