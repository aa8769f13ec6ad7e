"""A tool of an MCP server is opaque: only a person makes it safe, and what its server says makes it worse at most."""

import pytest
from asgiref.sync import async_to_sync

from paca.engine.approvals.decisions import Decisions
from paca.engine.approvals.plans import PlanState
from paca.engine.approvals.policy import judge
from paca.engine.mcp.connection import ServerConnection
from paca.engine.mcp.group import ServerGroup
from paca.engine.mcp.settings import McpServerSettings, NoMcpServers, OfferedTool, PinnedTool
from paca.engine.mcp.tools import ListMcpResources, McpTool, ReadMcpPrompt, ReadMcpResource
from paca.engine.tools.registry import Toolbox, UnknownTool


def tool(*, safe: bool = False, reads: bool = False, destroys: bool = False) -> McpTool:
    offer = OfferedTool("find", "Finds.", {"type": "object", "properties": {}}, reads, destroys)
    pinned = PinnedTool(offer.hash, accepted=True, safe=safe, enabled=True, offer=offer)
    settings = McpServerSettings("web", "web", "http")
    return McpTool("mcp__web__find", pinned, ServerConnection(settings, NoMcpServers(), None))  # type: ignore[arg-type]


def rule_of(found: McpTool, policy: str) -> str:
    box = Toolbox([found])
    call = box.parse("mcp__web__find", {"any": {"thing": [1, "2"]}})
    verdict = judge("call", call, policy=policy, decisions=Decisions(), toolbox=box)
    return verdict.request.rule if verdict.request else "runs"


@pytest.mark.parametrize(
    ("facts", "auto", "unsafe", "every"),
    [
        ({}, "runs", "unsafe_tool", "unsafe_tool"),
        ({"reads": True}, "runs", "unsafe_tool", "unsafe_tool"),
        ({"safe": True}, "runs", "runs", "ask_for_all"),
        ({"destroys": True}, "destructive_tool", "destructive_tool", "destructive_tool"),
        ({"destroys": True, "safe": True}, "runs", "runs", "ask_for_all"),
    ],
)
def test_approval_of_a_call(facts, auto, unsafe, every):
    assert [rule_of(tool(**facts), policy) for policy in ("auto", "unsafe", "all")] == [
        auto,
        unsafe,
        every,
    ]


def test_call_to_a_server_outside_asks_beside_secrets_unless_a_person_has_set_it_safe():
    beside, safe = tool(), tool(safe=True)
    beside.connection.beside_secrets = safe.connection.beside_secrets = True
    assert [rule_of(beside, policy) for policy in ("auto", "unsafe")] == ["sends_out", "sends_out"]
    assert rule_of(safe, "auto") == "runs"
    assert ReadMcpPrompt({"web": beside.connection}).sends_out
    beside.connection.beside_secrets = False
    assert not ReadMcpPrompt({"web": beside.connection}).sends_out


async def _none_opens():
    raise AssertionError("nothing is opened here")


@pytest.mark.parametrize(("transport", "asks"), [("http", True), ("stdio", False)])
def test_servers_of_a_turn_know_whether_commands_have_secrets(transport, asks):
    found = tool(reads=True)
    tools = {"find": found.pinned}
    group = ServerGroup(NoMcpServers(), _none_opens)
    settings = McpServerSettings("web", "web", transport, tools=tools)
    for beside in (True, False):
        async_to_sync(group.begin_turn)([settings], beside_secrets=beside)
        assert [each.sends_out for each in group.tools()] == [asks and beside]


@pytest.mark.parametrize("found", [tool(), tool(reads=True, safe=True)])
def test_plan_mode_and_read_only_runs_have_no_tools_of_servers(found):
    box = Toolbox([found])
    call = box.parse("mcp__web__find", {})
    verdict = judge(
        "call", call, policy="auto", decisions=Decisions(), toolbox=box, plan=PlanState(mode=True)
    )
    assert verdict.refusal
    read_only = Toolbox([found], read_only=True)
    assert not read_only.specs()
    with pytest.raises(UnknownTool):
        read_only.parse("mcp__web__find", {})


@pytest.mark.parametrize("kind", [ListMcpResources, ReadMcpResource, ReadMcpPrompt])
def test_plan_mode_and_read_only_runs_start_no_server_to_read_from_it(kind):
    found = kind({})
    box = Toolbox([found])
    given = {"server": "web", "uri": "a", "prompt": "b"}
    arguments = {name: given[name] for name in given if name in kind.Arguments.model_fields}
    call = box.parse(found.name, arguments)
    facts = {"policy": "unsafe", "decisions": Decisions(), "toolbox": box}
    assert judge("call", call, plan=PlanState(mode=True), **facts).refusal
    assert bool(judge("call", call, **facts).request) is (kind is ReadMcpPrompt)
    assert not Toolbox([found], read_only=True).specs()


def test_arguments_reach_the_server_as_they_are():
    call = Toolbox([tool()]).parse(
        "mcp__web__find", {"_x": 1, "model_dump": "a", "nested": {"b": [None]}}
    )
    assert call.arguments.model_dump(mode="json", exclude_unset=True) == {
        "_x": 1,
        "model_dump": "a",
        "nested": {"b": [None]},
    }
    assert call.subject == "1"
