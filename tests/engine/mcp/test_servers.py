"""Servers of every kind in a group: good ones work, and bad ones hold nothing up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from paca import events
from paca.engine.mcp import connection, group, sandbox_transport
from paca.engine.mcp.errors import ServerUnavailable
from paca.engine.mcp.group import ServerGroup
from paca.engine.tools.base import ToolContext, ToolOutput
from paca.engine.workspace import SandboxWorkspace
from tests.support.mcp_servers import HostPipe, HostPipes, MemoryServers, make_group


async def no_workspace() -> SandboxWorkspace:
    raise AssertionError("a server starts the sandbox itself")


class Run:
    """A group with its servers and processes, as a run of a worker has them."""

    def __init__(self) -> None:
        self.servers = MemoryServers()
        self.pipes = HostPipes()
        self.group: ServerGroup = make_group(self.servers, self.pipes)

    async def begin_turn(self) -> tuple[events.Event, ...]:
        await self.group.begin_turn(await self.servers.settings())
        return (await self.group.before_step()).events

    def names(self) -> list[str]:
        return [tool.name for tool in self.group.tools()]

    async def call(self, name: str, **arguments: object) -> ToolOutput:
        tool = next(tool for tool in self.group.tools() if tool.name == name)
        context = ToolContext("call", no_workspace)
        return await tool.act(tool.Arguments.model_validate(arguments), context)


@pytest.fixture
async def run(anyio_backend) -> AsyncIterator[Run]:
    made = Run()
    yield made
    await made.group.close()
    async with asyncio.timeout(120):  # none of their processes is left
        for pipe in made.pipes.pipes:
            await pipe.process.wait()


async def test_a_good_server_brings_its_tools(run):
    run.servers.add_stdio("good", env={"WORD": "secret-word"})
    assert not await run.begin_turn()
    assert "mcp__good__echo" in run.names()
    assert (await run.call("mcp__good__echo", text="hello")).output == "echo: hello"
    environment = dict(json.loads((await run.call("mcp__good__environment")).output))
    assert environment["WORD"] == "secret-word"


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("dead", "its program ended with 3: cannot read the configuration"),
        ("floods", "it writes without end"),
        ("silent", "it did not answer within 1 s"),
    ],
)
async def test_a_server_that_is_bad_from_the_start_hides_no_other(run, fault, why):
    run.servers.add_stdio("bad", fault, start_seconds=1 if fault == "silent" else 30)
    run.servers.add_stdio("good")
    (told,) = await run.begin_turn()
    assert told == events.McpUnavailable(server="bad", error=why)
    assert (await run.call("mcp__good__echo", text="on")).output == "echo: on"
    assert not (await run.group.before_step()).events  # told once


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("die", {}, "its program ended with 7: Traceback: it is broken"),
        ("flood", {}, "it writes without end"),
        ("big", {"mib": 10}, "it sent a message longer than 8 MiB"),
    ],
)
async def test_a_server_that_is_lost_in_mid_call_is_connected_again(run, tool, arguments, why):
    run.servers.add_stdio("bad")
    await run.begin_turn()
    lost = await run.call(f"mcp__bad__{tool}", **arguments)
    assert lost.failed
    assert why in lost.output
    assert "check before you repeat it" in lost.output
    assert (await run.call("mcp__bad__echo", text="on")).output == "echo: on"


async def test_a_server_that_asks_and_asks_is_ended(run, monkeypatch):
    monkeypatch.setattr(sandbox_transport, "MAX_QUIET_LINES", 100)
    run.servers.add_stdio("bad")
    await run.begin_turn()
    assert "it writes without end" in (await run.call("mcp__bad__beg")).output


async def test_a_call_that_takes_too_long_ends_and_the_next_one_works(run, monkeypatch):
    """T-13. The server has one thread, which sleeps: it is begun again."""
    monkeypatch.setattr(connection, "SIGN_OF_LIFE_SECONDS", 0.1)
    run.servers.add_stdio("slow", call_seconds=0.2)
    await run.begin_turn()
    late = await run.call("mcp__slow__sleep", seconds=600)
    assert late.cause == "timed_out"
    assert "no answer within 0.2 s" in late.output
    slow = run.group._connections["slow"]
    slow.settings = replace(slow.settings, call_seconds=30)
    assert (await run.call("mcp__slow__echo", text="on")).output == "echo: on"
    assert len(run.pipes.pipes) == 2
    assert (await run.call("mcp__slow__echo", text="more")).output == "echo: more"
    assert len(run.pipes.pipes) == 2


async def test_a_server_that_was_killed_between_two_calls_is_started_again(run):
    run.servers.add_stdio("good")
    await run.begin_turn()
    first = (await run.call("mcp__good__pid")).output
    run.pipes.pipes[0].process.kill()
    await run.pipes.pipes[0].process.wait()
    while run.group._connections["good"].is_open:  # noqa: ASYNC110 - the state of the connection
        await asyncio.sleep(0.01)
    second = await run.call("mcp__good__pid")
    assert not second.failed
    assert second.output != first


@pytest.mark.parametrize(
    ("tool", "text"),
    [("garbage", "after garbage"), ("wrong", "does not fit the protocol"), ("peek", "done")],
)
async def test_odd_answers_are_results(run, tool, text):
    run.servers.add_stdio("odd")
    await run.begin_turn()
    assert text in (await run.call(f"mcp__odd__{tool}")).output
    assert (await run.call("mcp__odd__echo", text="on")).output == "echo: on"


async def test_huge_schemas_leave_their_tools_out_and_are_reported(run):
    run.servers.add_stdio("huge", "huge-schema")
    await run.begin_turn()
    assert "mcp__huge__wide" not in run.names()
    assert "mcp__huge__echo" in run.names()
    assert "wide: its schema is longer" in run.servers.reports[-1][2]


async def test_an_unaccepted_tool_is_not_offered_until_a_person_accepts_it(run):
    run.servers.accepts = False
    run.servers.add_stdio("new")
    await run.begin_turn()
    assert not [name for name in run.names() if name.startswith("mcp__")]
    run.servers.accept("new", "echo")
    await run.begin_turn()
    assert [name for name in run.names() if name.startswith("mcp__")] == ["mcp__new__echo"]
    run.servers.accept("new", "echo", enabled=False)
    await run.begin_turn()
    assert not [name for name in run.names() if name.startswith("mcp__")]


async def test_a_tool_that_has_changed_is_not_called_until_a_person_accepts_it(run):
    run.servers.add_stdio("sly", "changes")
    await run.begin_turn()
    run.servers.accepts = False
    assert (await run.call("mcp__sly__echo", text="one")).output == "echo: one"
    refused = await run.call("mcp__sly__echo", text="two")
    assert refused.failed
    assert "describes it otherwise" in refused.output
    assert not (await run.call("mcp__sly__peek")).failed  # the others go on
    await run.begin_turn()
    assert "mcp__sly__echo" not in run.names()
    assert "mcp__sly__another" not in run.names()


async def test_a_tool_that_is_switched_off_is_not_called_within_the_turn(run):
    run.servers.add_stdio("good")
    await run.begin_turn()
    assert (await run.call("mcp__good__echo", text="on")).output == "echo: on"
    run.servers.accept("good", "echo", enabled=False)
    refused = await run.call("mcp__good__echo", text="on")
    assert (refused.cause, "people have switched it off" in refused.output) == ("refused", True)
    run.servers.accept("good", "echo", enabled=True)
    assert (await run.call("mcp__good__echo", text="on")).output == "echo: on"


async def test_a_server_that_is_deleted_is_neither_called_nor_read_within_the_turn(run):
    run.servers.add_stdio("good")
    await run.begin_turn()
    run.servers.servers.clear()
    calls = [
        await run.call("mcp__good__echo", text="on"),
        await run.call("list_mcp_resources", server="good"),
    ]
    assert [(each.cause, "switched" in each.output) for each in calls] == [("refused", True)] * 2


async def test_calls_of_a_tool_that_is_safe_no_more_do_not_run_and_the_next_step_asks(run):
    run.servers.safe = True
    run.servers.add_stdio("good")
    await run.begin_turn()
    tool = next(tool for tool in run.group.tools() if tool.name == "mcp__good__echo")
    assert (await run.call(tool.name, text="on")).output == "echo: on"
    run.servers.accept("good", "echo", safe=False)
    calls = [await run.call(tool.name, text="on") for _ in range(2)]  # judged before
    assert [(each.cause, "Call it again" in each.output) for each in calls] == [
        ("refused", True)
    ] * 2
    await run.group.before_step()
    assert not tool.safe
    assert (await run.call(tool.name, text="on")).output == "echo: on"  # a person has approved it


async def test_within_a_turn_tools_are_only_added(run, monkeypatch):
    monkeypatch.setattr(connection, "FIRST_RETRY_SECONDS", 0.0)
    run.servers.add_stdio("good")
    run.servers.add_stdio("late", "dead")
    await run.begin_turn()
    before = run.group.tools()
    assert not (await run.group.before_step()).more_tools
    assert run.group.tools() == before
    late = run.group._connections["late"]
    late.settings = replace(late.settings, args=late.settings.args[:1])
    told: list[events.Event] = []
    more = False
    while not more:
        news = await run.group.before_step()
        told += news.events
        more = news.more_tools
        await asyncio.sleep(0.01)
    assert run.group.tools()[: len(before)] == before
    assert "mcp__late__echo" in run.names()
    assert events.McpAvailable(server="late") in [*told, *(await run.group.before_step()).events]


async def test_a_slow_server_holds_the_first_step_up_for_a_while_only(run, monkeypatch):
    monkeypatch.setattr(group, "WAIT_SECONDS", 0.05)
    run.servers.add_stdio("slow", "silent", start_seconds=3)
    assert not await run.begin_turn()  # it is still being connected
    assert not run.names()


async def test_a_server_in_the_sandbox_whose_tools_are_known_waits_for_its_first_call(run):
    run.servers.add_stdio("good")
    await run.begin_turn()
    await run.group.close()
    again = make_group(run.servers, run.pipes)
    await again.begin_turn(await run.servers.settings())
    assert not (await again.before_step()).more_tools
    assert len(run.pipes.pipes) == 1
    run.group = again
    assert (await run.call("mcp__good__echo", text="on")).output == "echo: on"
    assert len(run.pipes.pipes) == 2


async def test_an_old_connection_that_ends_late_disturbs_no_new_one(run, monkeypatch):
    ended = asyncio.Event()
    close = HostPipe.close

    async def close_late(pipe: HostPipe) -> None:
        await ended.wait()
        await close(pipe)
        raise ServerUnavailable("the old one")

    run.servers.add_stdio("good")
    await run.begin_turn()
    monkeypatch.setattr(HostPipe, "close", close_late)
    assert (await run.call("mcp__good__die")).failed
    first = run.group._connections["good"]
    old = first._holder
    pid = (await run.call("mcp__good__pid")).output
    monkeypatch.setattr(HostPipe, "close", close)
    ended.set()
    assert old is not None
    await asyncio.wait({old}, timeout=20)
    assert (await run.call("mcp__good__pid")).output == pid
    assert not first.error


async def test_resources_and_prompts_are_read_by_three_tools(run):
    run.servers.add_stdio("good")
    await run.begin_turn()
    listed = await run.call("list_mcp_resources", server="good")
    assert listed.output == "resource note://one one\nprompt greet(who)"
    assert (
        await run.call("read_mcp_resource", server="good", uri="note://one")
    ).output == "A note."
    made_up = await run.call("read_mcp_resource", server="good", uri="note://my-secret")
    assert "lists no resource of this uri" in made_up.output
    prompt = {"server": "good", "prompt": "greet", "arguments": {"who": "Ada"}}
    assert (await run.call("read_mcp_prompt", **prompt)).output == "user:\nGreet Ada."
    assert "The servers are: good." in (await run.call("list_mcp_resources", server="x")).output


@pytest.mark.parametrize(
    ("fault", "seconds", "why"),
    [("no-lists", 60, "no such method"), ("silent-lists", 0.05, "it did not answer within 0.05 s")],
)
async def test_a_server_that_cannot_list_resources_or_prompts_keeps_its_tools(
    run, monkeypatch, fault, seconds, why
):
    from paca.engine.mcp import sdk

    monkeypatch.setattr(sdk, "LIST_SECONDS", seconds)
    run.servers.add_stdio("good", fault)
    assert not await run.begin_turn()
    assert (await run.call("mcp__good__echo", text="on")).output == "echo: on"
    assert "list_mcp_resources" not in run.names()
    said = f"Its resources cannot be listed: {why}. Its prompts cannot be listed: {why}."
    assert run.servers.reports[-1] == ("good", "available", said)


async def test_a_list_of_resources_is_bounded_and_hides_nothing(run):
    run.servers.add_stdio("good", "odd-lists")
    await run.begin_turn()
    listed = await run.call("list_mcp_resources", server="good")
    assert listed.truncated
    assert len(listed.output) < 32 << 10
    assert listed.output.startswith("resource note://one one\nresource x://0/y")
    assert " odd" not in listed.output


async def test_secrets_of_the_settings_stay_out_of_errors_and_results(run):
    key = "sk-very-secret-value"
    run.servers.add_stdio("good", env={"API_KEY": key})
    run.servers.add_stdio(
        "dead", env={"API_KEY": key}, command="sh", args=("-c", "echo $API_KEY >&2; exit 1")
    )
    (told,) = await run.begin_turn()
    assert key not in told.error
    assert "***" in told.error
    assert key not in (await run.call("mcp__good__environment")).output


async def test_settings_that_change_connect_anew_and_others_go_on(run):
    run.servers.add_stdio("changed")
    run.servers.add_stdio("kept")
    await run.begin_turn()
    before = (await run.call("mcp__kept__pid")).output
    run.servers.servers["changed"] = replace(run.servers.servers["changed"], env={"NEW": "1"})
    await run.begin_turn()
    assert (await run.call("mcp__kept__pid")).output == before
    assert "NEW" in (await run.call("mcp__changed__environment")).output
