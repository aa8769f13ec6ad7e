"""MCP servers in whole journeys: in the sandbox, over HTTP, dead ones beside good ones, and kills of workers."""

from __future__ import annotations

import os
import uuid
from typing import Any

import psutil
import pytest

from paca.agents.models import Agent, McpServer
from paca.agents.services import mcp_servers
from paca.engine.mcp import connection, group
from tests.support.flow import Flow, assert_replay_matches, wait_until
from tests.support.mcp_http_server import HttpServer
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
# T-41 wants twenty, half of which are killed; that takes a minute.
CONVERSATIONS = int(os.environ.get("MCP_CONVERSATIONS", "2"))

GIF = "R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs="
# A whole server: it answers tools/list and echoes. Its lines are those of the protocol.
ECHO = """
import json, os, sys
TOOLS = [{"name": "echo", "description": "Echo.", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
         {"name": "hang", "description": "Hang.", "inputSchema": {"type": "object"}},
         {"name": "picture", "description": "A picture.", "inputSchema": {"type": "object"}}]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, params = asked["method"], asked.get("params") or {}
    if method == "initialize":
        answer = {"result": {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                             "serverInfo": {"name": "echo", "version": "1"}}}
    elif method == "tools/list":
        answer = {"result": {"tools": TOOLS}}
    elif method == "tools/call" and params["name"] == "hang":
        open("/workspace/began", "a").write("x")
        continue
    elif method == "tools/call" and params["name"] == "picture":
        answer = {"result": {"content": [{"type": "image", "mimeType": "image/gif", "data": "R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs="}]}}
    elif method == "tools/call":
        said = params["arguments"].get("text", "") + " " + os.environ.get("WORD", "")
        answer = {"result": {"content": [{"type": "text", "text": said}]}}
    else:
        answer = {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts of these tests call a tool in their first step, also on a busy machine."""
    monkeypatch.setattr(group, "WAIT_SECONDS", 60.0)


def add_stdio(flow: Flow, name: str = "echo", **settings: Any) -> McpServer:
    given = {"command": "python3", "args": ["-c", ECHO], "env": {"WORD": "in-the-sandbox"}}
    return mcp_servers.create(
        flow.world.agent,
        name=name,
        transport="stdio",
        by=flow.world.owner,
        accept_first=True,
        **(given | settings),
    )


def add_http(flow: Flow, name: str, url: str, **settings: Any) -> McpServer:
    return mcp_servers.create(
        flow.world.agent,
        name=name,
        transport="http",
        url=url,
        by=flow.world.owner,
        accept_first=True,
        private_addresses=True,
        **settings,
    )


def allow_private(flow: Flow, *, allowed: bool) -> None:
    flow.world.agent.project.private_mcp_servers = allowed
    flow.world.agent.project.save()


def test_a_server_in_the_sandbox_works_beside_a_dead_one(flow):
    """T-11."""
    add_stdio(flow)
    add_stdio(flow, "dead", command="sh", args=["-c", "echo no configuration >&2; exit 3"])
    found = flow.ask("Echo", replies=[calls(mcp__echo__echo={"text": "hello"}), says("Done.")])
    assert found.outputs == ["hello in-the-sandbox"]
    (dead,) = found.event_data("mcp.unavailable")
    assert dead["server"] == "dead"
    assert "ended with 3: no configuration" in dead["error"]
    assert found.answers == ["Done."]
    server = McpServer.objects.get(name="dead")
    assert (server.health_state, server.health_error) == ("unavailable", dead["error"])
    again = flow.ask(
        "Again", replies=[calls(mcp__echo__echo={"text": "more"}), says("Done.")], after=found
    )
    assert again.outputs[-1] == "more in-the-sandbox"


def test_an_image_of_a_server_reaches_people_and_a_model_that_can_see(flow):
    add_stdio(flow)
    found = flow.ask("Draw", replies=[calls(mcp__echo__picture={}), says("A dot.")])
    (returned,) = found.event_data("tool.returned")
    assert returned["output"] == "[image 1: GIF, 35 bytes]"
    assert returned["images"] == [{"kind": "image/gif", "data": GIF}]
    sees = flow.dialect == "anthropic"
    assert (GIF in str(flow.model.requests[-1])) is sees
    assert_replay_matches(found)


def test_a_server_over_http_works_from_the_worker(flow):
    with HttpServer() as web:
        allow_private(flow, allowed=True)
        add_http(flow, "web", web.url, headers={"X-Word": "head-of-the-request"})
        found = flow.ask("Add", replies=[calls(mcp__web__add={"a": 2, "b": 3}), says("5.")])
    assert found.outputs == ["5"]
    assert not found.has_event("sandbox.starting")


def test_a_private_address_is_refused_unless_the_project_allows_it(flow):
    with HttpServer() as web:
        allow_private(flow, allowed=True)
        add_http(flow, "web", web.url)
        allow_private(flow, allowed=False)
        found = flow.ask("Add", replies=[says("I cannot.")])
    (event,) = found.event_data("mcp.unavailable")
    assert "private network" in event["error"]


def test_stop_reaches_a_call_of_a_server(flow):
    add_stdio(flow)
    found = flow.begin("Hang", replies=[calls(mcp__echo__hang={})])
    flow.wait_until_written(found, "began")
    flow.stop(found)
    assert flow.wait_until_idle(found) == "stopped/by_person"
    (returned,) = found.event_data("tool.returned")
    assert returned["cause"] == "cancelled"


def test_a_call_that_had_begun_when_its_worker_ended_is_not_made_again(flow):
    add_stdio(flow)
    found = flow.begin("Hang", replies=[calls(mcp__echo__hang={}), says("I must look.")])
    flow.wait_until_written(found, "began")
    flow.stop_worker()
    flow.start_worker()
    flow.wait_until_idle(found)
    assert len(found.event_data("tool.outcome_unknown")) == 1
    assert flow.file_of(found, "began").read_text() == "x"


def test_a_server_that_comes_up_brings_its_tools_in_the_middle_of_a_turn(flow, monkeypatch):
    monkeypatch.setattr(connection, "FIRST_RETRY_SECONDS", 0.0)
    add_stdio(flow, command="sh", args=["-c", f"test -e /workspace/up && exec python3 -c '{ECHO}'"])
    found = flow.ask(
        "Start it",
        replies=[
            calls(bash="touch up"),
            calls(bash="sleep 1"),
            calls(mcp__echo__echo={"text": "late"}),
            says("Done."),
        ],
    )
    assert found.outputs[-1] == "late in-the-sandbox"
    assert found.has_event("mcp.unavailable")


# Its processes import the SDK anew, which costs more than all the others; make chaos PART=MCP kills at each point.
@pytest.mark.docker
def test_no_server_outlives_its_conversation_or_a_killed_worker(flow):
    """T-41, with MCP_CONVERSATIONS=20 as it is written there."""
    mark = f"mark-{uuid.uuid4().hex}"
    for name in ("one", "two"):
        add_stdio(flow, name, args=["-c", ECHO, mark], call_seconds=900)
    Agent.objects.update(limit_concurrent=10)
    flow.stop_worker()

    def servers() -> list[psutil.Process]:
        found = psutil.process_iter(["cmdline", "status"])
        return [
            each
            for each in found
            if mark in (each.info["cmdline"] or ()) and each.info["status"] != "zombie"
        ]

    with WorkerProcess(flow.folder, concurrency=CONVERSATIONS) as process:
        both = {"mcp__one__echo": {"text": "1"}, "mcp__two__echo": {"text": "2"}}
        for _ in range(CONVERSATIONS // 2):
            found = flow.ask("Echo", [calls(*both.items()), says("Done.")])
            assert len(found.outputs) == 2
        hanging = []
        for _ in range(CONVERSATIONS - CONVERSATIONS // 2):
            hanging.append(
                flow.begin("Hang", [calls(mcp__two__echo={"text": ""}, mcp__one__hang={})])
            )
            flow.wait_until_written(hanging[-1], "began")
        assert len(servers()) == 2 * len(hanging)
        process.kill()
        flow.model.script([says("I must look.") for _ in hanging])
        process.start()
        for found in hanging:
            flow.wait_until_idle(found, seconds=120)
            assert len(found.event_data("tool.outcome_unknown")) == 1
            assert flow.file_of(found, "began").read_text() == "x"
            assert_replay_matches(found)
        wait_until(lambda: not servers(), describe=lambda: str(servers()))
