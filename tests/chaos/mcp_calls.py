"""MCP: a worker dies around a call of an MCP server in the sandbox: the call happens at most once, and no server is left."""

from __future__ import annotations

from collections.abc import Sequence

from paca.agents.services import mcp_servers, mcp_tools
from paca.engine.mcp.offers import check_tools
from paca.engine.mcp.settings import ServerOffer, ServerState
from tests.chaos import oracle, points
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, EFFECTS, Script
from tests.chaos.testbed import SERVICES, SQLITE, Processes, Testbed
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

# A worker sees at once that another one on its host is dead; on a busy machine no other lease runs out.
LEASE_SECONDS = 30.0
REST_SECONDS = 120
POINTS = (
    *("intent-unstored", "intent-half-stored", "intent-stored", *points.MCP_POINTS),
    *("outcome-unstored", "outcome-half-stored", "outcome-stored", "turn-unfinished", "turn-ended"),
)
NAME = "marks-server"
TOOLS = [{"name": "mark", "inputSchema": {"type": "object", "properties": {"command": {}}}}]
SERVER = f"""
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        answer = {{"result": {{"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {{"tools": {{}}}},
                             "serverInfo": {{"name": "marks", "version": "1"}}}}}}
    elif asked["method"] == "tools/list":
        answer = {{"result": {{"tools": {TOOLS!r}}}}}
    elif asked["method"] == "tools/call":
        os.system("cd /workspace; " + asked["params"]["arguments"]["command"])
        answer = {{"result": {{"content": [{{"type": "text", "text": "marked"}}]}}}}
    else:
        answer = {{"error": {{"code": -32601, "message": "no"}}}}
    print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], **answer}}), flush=True)
"""


def cases(testbed: str, *, short: bool) -> Sequence[str]:
    """All points. The short form takes some."""
    if not short:
        return POINTS
    return {
        SQLITE: ("mcp-call-sent", "outcome-half-stored"),
        SERVICES: ("intent-stored", "mcp-call-answered"),
    }[testbed]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part."""
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "mcp")
        _add_server(group)
        chosen = cases(testbed.name, short=short)
        for number, point in enumerate(chosen):
            _try(point, f"m{number}", testbed, processes, group, report)
            report.progress(f"{number + 1} of {len(chosen)} cases")
        report.figures["cases"] = len(chosen)


def _add_server(group: ConversationGroup) -> None:
    """The server, whose tools are known: its process starts at its first call."""
    agent = group.world.agent
    server = mcp_servers.create(
        agent,
        by=group.world.owner,
        name="marks",
        transport="stdio",
        command="python3",
        args=["-c", SERVER, NAME],
        accept_first=True,
    )
    offer = ServerOffer(check_tools(TOOLS).tools)
    mcp_tools.report(agent.pk, server.pk, state=ServerState.AVAILABLE, offer=offer)


def _script(mark: str) -> Script:
    marks = [f"echo {mark}-{number} >> {EFFECTS}" for number in range(2)]
    return Script(
        mark, [*(calls(mcp__marks__mark={"command": each}) for each in marks), says(DONE)]
    )


def _try(
    point: str,
    mark: str,
    testbed: Testbed,
    processes: Processes,
    group: ConversationGroup,
    report: Report,
) -> None:
    script = _script(mark)
    doomed = processes.worker(**{points.VARIABLE: point})
    observed = group.begin(script)
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{point}: the process never came to the point; {observed.status}")
        doomed.kill()
    sound = processes.worker()
    group.wait_for_all(REST_SECONDS)
    found = oracle.judge(observed, script, testbed.effects(observed))
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    found += _left_servers(observed, testbed)
    sound.kill()
    report.breaches(observed, found, case=f"{point}:")
    testbed.delete_sandbox(observed)


def _left_servers(observed: ObservedConversation, testbed: Testbed) -> list[Breach]:
    """A breach if a server is left in the sandbox after the conversation has answered."""
    # The brackets keep the command from finding itself.
    look = f"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[{NAME[0]}]{NAME[1:]}'; true"
    try:
        wait_until(lambda: testbed.run_inside(observed, look).strip() == "0", REST_SECONDS)
    except AssertionError:
        return [Breach("T-41", "a server outlives its conversation")]
    return []
