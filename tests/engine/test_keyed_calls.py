"""Calls whose key outlives workers and sandboxes: repeated after a lost worker, and done once."""

import asyncio

import pytest

from paca import events
from paca.engine.tools.base import Effect, Tool, ToolArguments, ToolContext, ToolOutput
from tests.engine.world import World
from tests.support.model_script import calls, says

pytestmark = pytest.mark.anyio


class StorageLost(Exception):
    """It is not known whether the note was stored."""


class StoreNote(Tool["StoreNote.Arguments"]):
    """Stores a note under the id of its call, and waits before the write, after it, or not at all."""

    name = "store_note"
    effect = Effect.KEYED
    uses_workspace = False

    class Arguments(ToolArguments):
        note: str

    def __init__(self, wait: str = "") -> None:
        self.notes: dict[str, str] = {}
        self.writes = 0
        self.wait = wait
        self.error: Exception | None = None
        self.is_waiting = asyncio.Event()

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        await self._wait_at("before")
        if self.error is not None:
            raise self.error
        if context.call_id not in self.notes:
            self.notes[context.call_id] = arguments.note
            self.writes += 1
        await self._wait_at("after")
        return ToolOutput(f"Stored {arguments.note}.")

    async def find_result(self, call_id: str) -> ToolOutput | None:
        note = self.notes.get(call_id)
        return None if note is None else ToolOutput(f"Stored {note}.")

    async def _wait_at(self, moment: str) -> None:
        if self.wait == moment:
            self.is_waiting.set()
            await asyncio.Event().wait()


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_keyed_call_of_a_lost_worker_is_repeated_and_writes_once(moment: str):
    tool = StoreNote(wait=moment)
    world = World(calls(store_note={"note": "tea"}), says("Noted."), tools=[tool])
    world.send("Note tea")
    await tool.is_waiting.wait()
    await world.kill_worker()
    tool.wait = ""
    await world.take_over()
    assert (world.answers, world.outputs, tool.writes) == (["Noted."], ["Stored tea."], 1)
    assert world.find(events.ToolOutcomeUnknown) == []
    assert len(world.find(events.ToolStarted)) == 1


@pytest.mark.parametrize(
    ("moment", "output"),
    [("before", "Stopped by Ada."), ("after", "Stored tea.")],
)
async def test_stop_after_a_lost_worker_tells_whether_the_keyed_call_took_effect(
    moment: str, output: str
):
    tool = StoreNote(wait=moment)
    world = World(calls(store_note={"note": "tea"}), tools=[tool])
    world.send("Note tea")
    await tool.is_waiting.wait()
    await world.kill_worker()
    world.stop_before_the_next_worker()
    await world.take_over()
    assert (world.status, world.outputs) == ("stopped/by_person", [output])


async def test_call_gets_no_result_after_an_error_that_ends_the_run():
    """A result would be given to the next worker, which then does not repeat the call."""
    tool = StoreNote()
    tool.error = StorageLost()
    world = World(
        calls(store_note={"note": "tea"}), says("Noted."), tools=[tool], ends_run=(StorageLost,)
    )
    world.send("Note tea")
    with pytest.raises(StorageLost):
        await world.wait_until_idle()
    assert world.results == []
    world.log.take_added()
    tool.error = None
    await world.take_over()
    assert (world.outputs, tool.writes) == (["Stored tea."], 1)


async def test_failing_tool_is_a_result_if_its_error_does_not_end_the_run():
    tool = StoreNote()
    tool.error = ValueError("secret")
    world = World(tools=[tool])
    await world.ask("Note tea", calls(store_note={"note": "tea"}), says("It failed."))
    assert world.outputs == ["The tool failed: ValueError."]
