"""Custom tools: what a class must be, and what becomes of a handler that is slow, fails or floods."""

import asyncio
import logging
import threading
from typing import Literal

import pytest
from pydantic import BaseModel, Field, field_validator

from paca.engine.tools import handler_threads
from paca.engine.tools.custom import BadTool, make_tool
from paca.engine.tools.registry import BadArguments, Toolbox
from tests.engine.world import World
from tests.support.model_script import calls, says

pytestmark = pytest.mark.anyio
SECRET = "hunter2-hunter2"


class Weather:
    """Look up the weather."""

    name = "weather"
    effect = "read_only"

    class Arguments(BaseModel):
        town: str = Field(min_length=1)
        unit: Literal["c", "f"] = "c"

    def handle(self, arguments, call):
        return f"{arguments.town}: 21 {arguments.unit}"


def tool(handle=None, **attributes):
    """The tool of a class like ``Weather`` with another handler and other attributes."""
    if handle is not None:
        attributes["handle"] = lambda self, arguments, call: handle(arguments, call)
    return make_tool(type("Weather", (Weather,), attributes), package="sky 1.0")


async def result_of(made, **profile):
    """The result of a call that an agent makes."""
    world = World(calls(weather={"town": "Bonn"}), says("Done."), tools=[made], **profile)
    await world.ask("How is the weather?")
    assert world.status == "finished/answered"
    (returned,) = [each for each in world.log.events if each.type == "agent.tool.returned"]
    return returned


async def test_custom_tool_runs_and_is_described_as_the_others():
    returned = await result_of(tool())
    assert (returned.output, returned.failed) == ("Bonn: 21 c", False)
    (entry,) = Toolbox([tool()]).catalogue()
    schema = entry.pop("arguments")
    assert entry == {
        "name": "weather",
        "description": "Look up the weather.",
        "effect": "read_only",
        "safe": True,
        "timeout_seconds": 30.0,
        "package": "sky 1.0",
    }
    assert schema["required"] == ["town"]
    assert schema["properties"]["unit"]["enum"] == ["c", "f"]


async def test_handler_runs_in_a_thread_of_its_own_also_if_it_is_async():
    threads = []

    async def handle(arguments, call):
        await asyncio.sleep(0)
        threads.append(threading.current_thread())
        return {"degrees": 21}

    returned = await result_of(tool(handle))
    assert returned.output == '{"degrees": 21}'
    assert threads != [threading.main_thread()]


async def test_failing_handler_gives_the_model_the_kind_of_the_error_and_the_log_its_line(caplog):
    def handle(arguments, call):
        raise RuntimeError(f"cannot reach https://me:{SECRET}@sky.test")

    returned = await result_of(tool(handle))
    assert (returned.output, returned.cause) == ("The tool failed: RuntimeError.", "failed")
    (record,) = [each for each in caplog.records if each.message == "a custom tool failed"]
    assert record.place.rpartition(":")[0] == __file__
    assert SECRET not in str([vars(each) for each in caplog.records])


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), StopIteration(1)])
async def test_handler_cannot_end_the_worker(error):
    def handle(arguments, call):
        raise error

    returned = await result_of(tool(handle))
    assert returned.output == f"The tool failed: {type(error).__name__}."


async def test_handler_tells_the_model_why_its_call_failed():
    def handle(arguments, call):
        raise call.failed(f"No town {arguments.town}\x1b[2J.")

    returned = await result_of(tool(handle))
    assert (returned.output, returned.failed, returned.cause) == ("No town Bonn.", True, "")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "Done."),
        ("a\0b\ud800", "a\u2400b?"),
        ({1, 2}, "The tool failed: its answer is no text (set)."),
    ],
)
async def test_answer_becomes_a_text_that_can_be_stored(value, shown):
    returned = await result_of(tool(lambda arguments, call: value))
    assert returned.output == shown


async def test_long_answer_is_shortened_as_that_of_a_command():
    returned = await result_of(tool(lambda arguments, call: "line\n" * 1_000_000))
    assert len(returned.output) < 32 * 1024
    assert "left out" in returned.output
    assert returned.truncated


async def test_time_limit_ends_the_call_and_says_that_the_handler_may_run_on():
    go_on = threading.Event()

    def handle(arguments, call):
        go_on.wait(60)

    made = tool(handle, timeout_seconds=0.01, effect="idempotent")
    returned = await result_of(made)
    go_on.set()
    assert returned.cause == "timed_out"
    assert returned.output.startswith("weather gave no answer within 0.01 s.")
    assert "may still have it" in returned.output


async def test_async_handler_is_cancelled_at_its_time_limit():
    cancelled = threading.Event()

    async def handle(arguments, call):
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    returned = await result_of(tool(handle, timeout_seconds=0.01))
    assert returned.cause == "timed_out"
    assert await asyncio.to_thread(cancelled.wait, 60)


async def test_stop_ends_a_call_whose_handler_runs_on():
    go_on, began = threading.Event(), threading.Event()

    def handle(arguments, call):
        began.set()
        go_on.wait(60)

    world = World(calls(weather={"town": "Bonn"}), tools=[tool(handle, effect="opaque")])
    world.send("Go")
    assert await asyncio.to_thread(began.wait, 60)
    world.stop()
    await world.wait_until_idle()
    go_on.set()
    (returned,) = [each for each in world.log.events if each.type == "agent.tool.returned"]
    assert returned.cause == "cancelled"


async def test_handlers_that_never_end_use_up_their_threads_and_no_others(monkeypatch):
    monkeypatch.setattr(handler_threads, "MAX_THREADS", 0)
    returned = await result_of(tool())
    assert (returned.failed, returned.cause) == (True, "refused")
    assert "Try again later" in returned.output


async def test_opaque_tool_asks_a_person_where_unsafe_calls_ask():
    done = []
    made = tool(lambda arguments, call: done.append(call.id) or "Sent.", effect="opaque")
    world = World(calls(weather={"town": "Bonn"}), says("Done."), tools=[made], approval="unsafe")
    await world.ask("Go")
    assert (world.status, done) == ("waiting/approval", [])
    assert world.waits_for.rule == "unsafe_tool"
    await world.decide("approve")
    assert (world.status, len(done)) == ("finished/answered", 1)


async def test_rules_of_commands_hold_for_a_tool_that_takes_a_command():
    class Arguments(BaseModel):
        command: str

    made = tool(
        lambda arguments, call: "", effect="opaque", takes_command=True, Arguments=Arguments
    )
    world = World(calls(weather={"command": "rm -rf /"}), tools=[made], approval="auto")
    await world.ask("Go")
    assert world.status == "waiting/approval"


async def test_text_that_a_handler_shows_reaches_viewers_and_not_the_model():
    def handle(arguments, call):
        call.show("half way\0")
        return "there"

    world = World(calls(weather={"town": "Bonn"}), says("Done."), tools=[tool(handle)])
    await world.ask("Go")
    assert "half way\u2400" in [each.text for each in world.log.live if hasattr(each, "text")]
    assert "half way" not in str(world.log.events)


def test_arguments_that_do_not_fit_never_reach_the_handler():
    toolbox = Toolbox([tool()])
    for arguments in ({}, {"town": ""}, {"town": "Bonn", "unit": "k"}):
        with pytest.raises(BadArguments, match="did not run"):
            toolbox.parse("weather", arguments)
    assert toolbox.parse("weather", {"town": "Bonn", "colour": "red"}).notes  # as with the others


def test_check_of_the_package_that_breaks_is_a_result_for_the_model():
    class Arguments(BaseModel):
        town: str

        @field_validator("town")
        @classmethod
        def known(cls, town):
            return {}[town]

    with pytest.raises(BadArguments, match=r"cannot check these arguments \(KeyError\)"):
        Toolbox([tool(Arguments=Arguments)]).parse("weather", {"town": "Bonn"})


class Endless(BaseModel):
    inner: "Endless | None" = None


class Choice(BaseModel):
    either: Weather.Arguments | Endless


BAD = [
    ({"name": "Weather"}, "name must be"),
    ({"name": "mcp__sky__weather"}, "name must be"),
    ({"name": None}, "name must be"),
    ({"__doc__": ""}, "description is missing"),
    ({"description": "x" * 4_001}, "longer than 4,000"),
    ({"effect": "harmless"}, "effect must be one of read_only, idempotent, keyed, opaque"),
    ({"effect": ["read_only"]}, "effect must be one of"),
    ({"effect": "opaque", "safe": True}, "safe cannot be True"),
    ({"safe": "yes"}, "safe must be"),
    ({"timeout_seconds": 0}, "timeout_seconds must be"),
    ({"timeout_seconds": True}, "timeout_seconds must be"),
    ({"timeout_seconds": float("nan")}, "timeout_seconds must be"),
    ({"Arguments": dict}, "Arguments must be a class"),
    ({"Arguments": Endless}, "must not contain itself"),
    ({"takes_command": True}, "takes_command needs"),
    ({"Arguments": Choice}, "a choice between classes"),
    ({"Arguments": type("A", (BaseModel,), {"__annotations__": {"größe": int}})}, "no plain name"),
]


@pytest.mark.parametrize(("attributes", "problem"), BAD, ids=[str(each[0])[:40] for each in BAD])
def test_class_that_is_no_tool_is_refused_with_what_to_change(attributes, problem):
    with pytest.raises(BadTool, match=problem):
        tool(**attributes)


def test_anything_but_a_class_is_refused():
    for other in (None, Weather(), object, lambda: None, logging):
        with pytest.raises(BadTool, match="no class"):
            make_tool(other, package="sky 1.0")
