"""Property: stop, interrupt, messages, tool outcomes and dying workers, in any order, keep the laws."""

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paca.engine.limits import TurnLimits
from paca.engine.llm import retrying
from tests.engine.world import World
from tests.support.fake_sandbox_workspace import RunningCommand
from tests.support.model_script import Scripted, calls, fails, says, thinks

REPLIES = {
    "text": says("Answer."),
    "thought": thinks("Hm.") + says("Answer."),
    "read": calls(("list_directory", {"path": "."}), ("read_file", {"path": "a.txt"})),
    "bad call": calls(("no_such_tool", {})),
    "quick": calls(bash="quick"),
    "slow": says("I run it.") + calls(bash="slow"),
    "many": calls(bash=["quick", "slow"], read_file="a.txt"),
    "cut": says("Half").stopping("max_tokens"),
    "broken": fails("cuttool"),
    "overloaded": fails("529"),
    "stalled": fails("stall"),
    "summary wanted": calls(("compact_context", {"focus": "all"})),
}
ACTIONS = (
    *("message", "message", "interrupt", "stop", "continue"),
    *("finish command", "finish command", "lose worker", "settle", "settle"),
)
# Each action comes after so many rounds of the event loop.
STEPS = st.tuples(st.integers(0, 7), st.sampled_from(ACTIONS))


@dataclass
class Interleaving:
    """One conversation, driven action by action."""

    replies: list[str]
    window: int | None = None
    sent: int = 0
    running: list[RunningCommand] = field(default_factory=list)

    async def drive(self, steps: list[tuple[int, str]]) -> None:
        self.world = self.make_world()
        await self._act("message")
        for rounds, action in steps:
            for _ in range(rounds):
                await asyncio.sleep(0)
            await self._act(action)
        await self._settle()
        self.replies.clear()
        await self._act("message")
        await self._settle()
        assert self.world.status == "finished/answered"

    def make_world(self) -> World:
        return World(
            *[self._reply] * 400,
            files={"a.txt": "text\n"},
            commands={"quick": "ok\n", "slow": self._start_command},
            limits=TurnLimits(steps=8),
            context_window=self.window,
        )

    def _reply(self, request: object) -> Scripted:
        return REPLIES[self.replies.pop(0)] if self.replies else says("Done.")

    def _start_command(self, command: object) -> RunningCommand:
        self.running.append(RunningCommand("begun\n"))
        return self.running[-1]

    async def _act(self, action: str) -> None:
        world = self.world
        match action:
            case "message" | "interrupt":
                self.sent += 1
                (world.send if action == "message" else world.interrupt)(f"Message {self.sent}")
            case "finish command":
                for command in self.running:
                    command.finish("whole\n")
            case "lose worker" if world.can_lose_worker:
                await world.kill_worker()
                world.start_next_worker()
            case "continue" if not world.is_running:
                world.start()
            case "stop" if world.is_running:
                await self._stop()
            case "settle":
                await self._settle()

    async def _stop(self) -> None:
        """Stop, and assert that nothing runs afterwards."""
        world = self.world
        world.stop()
        async with asyncio.timeout(60):
            await world.wait_until_idle()
        assert all(command.outcome.done() for command in self.running)
        before = (len(world.commands), len(world.llm.requests), len(world.log.entries))
        for _ in range(20):
            await asyncio.sleep(0)
        assert (len(world.commands), len(world.llm.requests), len(world.log.entries)) == before

    async def _settle(self) -> None:
        """Finish the commands and let the conversation become idle; a stalled stream is stopped."""
        for _ in range(400):
            if not self.world.is_running:
                return await self.world.wait_until_idle()
            await self._act("finish command")
            await asyncio.sleep(0)
        return await self._stop()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(REPLIES)), min_size=4, max_size=16),
    st.lists(STEPS, min_size=4, max_size=20),
)
@example(["bad call"] * 4, [(0, "message"), (0, "message"), (0, "interrupt"), (1, "stop")])
def test_any_interleaving_keeps_history_outcomes_stops_and_messages(replies, steps):
    """``World.check`` asserts what the log says; ``_stop`` asserts that nothing runs after a stop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrying, "FIRST_WAIT_SECONDS", 0.0)
        asyncio.run(Interleaving(list(replies)).drive(steps))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(REPLIES)), min_size=4, max_size=16),
    st.lists(STEPS, min_size=4, max_size=20),
)
def test_any_interleaving_keeps_them_also_in_a_window_that_is_always_nearly_full(replies, steps):
    """A summary is due before almost every call, whatever ends it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrying, "FIRST_WAIT_SECONDS", 0.0)
        asyncio.run(Interleaving(list(replies), window=2_500).drive(steps))
