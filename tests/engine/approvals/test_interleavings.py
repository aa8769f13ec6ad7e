"""Property: decisions, messages, stops and dying workers, in any order, run nothing without a yes."""

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paca import events
from paca.engine.limits import TurnLimits
from paca.engine.llm import retrying
from tests.engine.test_interleavings import REPLIES, Interleaving
from tests.engine.world import World

ACTIONS = (
    *("message", "interrupt", "stop", "continue", "finish command", "lose worker", "settle"),
    *("approve", "approve", "deny", "approve rest", "revoke", "expire", "change"),
)
STEPS = st.tuples(st.integers(0, 7), st.sampled_from(ACTIONS))
DECISIONS = {
    "approve": ("approve", {}),
    "deny": ("deny", {"reason": "no"}),
    "approve rest": ("approve_rest", {}),
    "change": ("approve", {"arguments": {"command": "quick"}}),
}


@dataclass
class ApprovalInterleaving(Interleaving):
    """A conversation whose commands all wait for a person."""

    def make_world(self) -> World:
        return World(
            *[self._reply] * 400,
            files={"a.txt": "text\n"},
            commands={"quick": "ok\n", "slow": self._start_command},
            limits=TurnLimits(steps=8),
            approval="unsafe",
        )

    async def _act(self, action: str) -> None:
        world = self.world
        if action == "revoke":
            world.log.append(events.ApprovalRevoked(by="Mei"))
        elif action == "expire" and world.waits_for is not None:
            world.expire()
        elif action in DECISIONS and world.waits_for is not None:
            decision, facts = DECISIONS[action]
            world.give(decision, **facts)
        elif action == "stop" and world.waits_for is not None:
            world.stop()
        elif action == "continue" and world.waits_for is not None:
            return
        else:
            await super()._act(action)

    async def _settle(self) -> None:
        """Deny what waits, until the conversation is idle."""
        for _ in range(60):
            await super()._settle()
            if self.world.waits_for is None:
                return
            self.world.give("deny")
        raise AssertionError("it does not become idle")

    def check_approvals(self) -> None:
        """Each command that ran had a yes of its own, or the rest was approved; and none was asked for twice.

        One that was started in the moment of a revocation is refused, and does not run.
        """
        approved, rest, commands, held = set(), False, set(), set()
        asked: list[str] = []
        for event in self.world.log.events:
            match event:
                case events.ToolCalled(tool="bash"):
                    commands.add(event.call_id)
                case events.ApprovalRequested():
                    asked.append(event.call_id)
                case events.ApprovalGiven(decision="approve" | "approve_rest"):
                    approved.add(event.call_id)
                    rest = rest or event.decision == "approve_rest"
                case events.ApprovalRevoked():
                    rest = False
                case events.ToolStarted() if event.call_id in commands and not rest:
                    held |= {event.call_id} - approved - self.ran_with_rest
        assert len(asked) == len(set(asked))
        ran = [command.call_id for command in self.world.sandbox.current.ran]
        assert len(ran) == len(set(ran))
        assert not held & set(ran)

    @property
    def ran_with_rest(self) -> set[str]:
        """Calls that were started before the approval of the rest was revoked: another worker carries them on."""
        started: dict[str, int] = {}
        for event in self.world.log.events:
            if isinstance(event, events.ToolStarted):
                started[event.call_id] = started.get(event.call_id, 0) + 1
        return {call_id for call_id, times in started.items() if times > 1}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(REPLIES)), min_size=4, max_size=16),
    st.lists(STEPS, min_size=4, max_size=24),
)
def test_no_interleaving_runs_a_command_without_a_yes(replies, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrying, "FIRST_WAIT_SECONDS", 0.0)
        interleaving = ApprovalInterleaving(list(replies))
        asyncio.run(interleaving.drive(steps))
        interleaving.check_approvals()
