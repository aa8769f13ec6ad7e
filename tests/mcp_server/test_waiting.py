"""A wait for an agent ends with its answer, its time, a person's turn or the web server; it tells its progress."""

import asyncio
import threading
import time
from typing import Any
from uuid import UUID

import pytest

from paca import events
from paca.accounts.services import tokens
from paca.conversations import store
from paca.conversations.models import Conversation, ConversationStatus
from paca.mcp_server import waiting
from tests.support.live_server import LiveServer, running
from tests.support.mcp_caller import NEW, OLD, McpCaller

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "FIRST_LOOK_SECONDS", 0.02)


@pytest.fixture
def started(caller: McpCaller, world: Any) -> dict[str, Any]:
    """The arguments that name a conversation which no worker takes."""
    project = world.project.pk
    found = caller.tool("start_agent", project=project, agent=world.agent.pk, instruction="Hello")
    return {"project": str(project), "conversation": found["conversation"]["id"]}


class Wait(threading.Thread):
    """A wait in a thread; ``given`` is what it gives, when it has ended."""

    def __init__(self, caller: McpCaller, **arguments: Any) -> None:
        super().__init__()
        token = caller.token
        self._caller = McpCaller(caller.port, token, caller.version)
        self._arguments = arguments
        self.given: Any = None
        self.start()

    def run(self) -> None:
        self.given = self._caller.result("wait_for_agent", **self._arguments)[0]


def until_waiting(count: int) -> None:
    deadline = time.monotonic() + 60
    while sum(waiting.waits._of_caller.values()) != count:
        assert time.monotonic() < deadline, "no wait has begun"
        time.sleep(0.01)


def set_status(conversation: str, *statuses: str, reason: str = "") -> None:
    for status in statuses:
        Conversation.objects.filter(pk=conversation).update(status=status, reason=reason)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_wait_gives_the_answer_when_the_agent_has_ended(caller: McpCaller, started, version):
    caller.version = version
    wait = Wait(caller, **started)
    until_waiting(1)
    store.append(UUID(started["conversation"]), events.MessageSpoken(text="Forty boats"))
    set_status(started["conversation"], "running", "finished", reason="answered")
    wait.join(60)
    assert wait.given["answer"] == "Forty boats"
    assert wait.given["conversation"]["status"] == ConversationStatus.FINISHED
    assert wait.given["is_working"] is False
    assert "next_step" not in wait.given
    until_waiting(0)


def test_wait_ends_when_a_person_must_decide_and_says_so(caller: McpCaller, started):
    set_status(started["conversation"], "running", "waiting", reason="approval")
    found = caller.tool("wait_for_agent", **started)
    assert found["is_working"] is False
    assert "waits for a person" in found["next_step"]


@pytest.mark.parametrize("reason", ["sandbox", "helpers"])
def test_wait_goes_on_while_no_person_is_awaited(caller: McpCaller, started, reason):
    set_status(started["conversation"], "running", "waiting", reason=reason)
    found = caller.tool("wait_for_agent", **started, wait_seconds=0.1)
    assert found["is_working"] is True


@pytest.mark.parametrize("status", ["paused", "inactive"])
def test_wait_for_an_agent_that_is_not_active_ends_and_says_who_can_go_on(
    caller: McpCaller, world: Any, started, status
):
    world.agent.status = status
    world.agent.save()
    found = caller.tool("wait_for_agent", **started)
    assert (found["is_working"], found["conversation"]["waits_for"]) == (False, f"agent_{status}")
    assert f"The agent is {status}" in found["next_step"]


def test_wait_that_begins_after_the_web_server_has_ended_all_is_over_at_once():
    waits = waiting.Waits()

    async def begin_late() -> bool:
        waits.end_all()
        with waits.one("a") as stop:
            return stop.is_set()

    async def begin_in_another_server() -> bool:
        with waits.one("a") as stop:
            return stop.is_set()

    assert asyncio.run(begin_late()) is True
    assert asyncio.run(begin_in_another_server()) is False


def test_older_message_is_no_answer(caller: McpCaller, started):
    store.append(UUID(started["conversation"]), events.MessageSpoken(text="Old"))
    found = caller.tool("wait_for_agent", **started, wait_seconds=0)
    assert found["last_words"] == "Old"
    seq = found["conversation"]["last_seq"]
    set_status(started["conversation"], "running", "finished", reason="answered")
    assert "answer" not in caller.tool("wait_for_agent", **started, after=seq)


def test_caller_of_too_many_waits_is_refused(caller: McpCaller, started, monkeypatch, world):
    monkeypatch.setattr(waiting, "MAX_WAITS", 1)
    wait = Wait(caller, **started)
    until_waiting(1)
    error = caller.error("wait_for_agent", **started)
    assert error["code"] == "too_many_waits"
    other = McpCaller(caller.port, tokens.create(world.user, name="b", scopes=[], by=world.user)[1])
    assert other.tool("wait_for_agent", **started, wait_seconds=0.1)["is_working"]
    set_status(started["conversation"], "running", "finished")
    wait.join(60)
    assert wait.given["is_working"] is False


def test_agent_that_was_started_is_no_error_when_its_wait_is_refused(
    caller: McpCaller, started, monkeypatch, world
):
    given = {
        "project": world.project.pk,
        "agent": world.agent.pk,
        "instruction": "Hello",
        "wait_seconds": 1,
    }
    scopes = ["conversations:write"]  # and not conversations:read
    token = tokens.create(world.user, name="writer", scopes=scopes, by=world.user)[1]
    writer = McpCaller(caller.port, token)
    begun = writer.tool("start_agent", **given)
    assert begun["not_waited"]["code"] == "out_of_scope"
    assert "do not start it again" in begun["next_step"]
    assert Conversation.objects.filter(pk=begun["conversation"]["id"]).exists()
    told = writer.tool("send_message", **started, text="And now?")
    assert told["conversation"]["id"] == started["conversation"]
    assert told["message_seq"] > 1
    monkeypatch.setattr(waiting, "MAX_WAITS", 0)
    assert caller.tool("start_agent", **given)["not_waited"]["code"] == "too_many_waits"


def test_throttled_look_does_not_end_the_wait(caller: McpCaller, started, monkeypatch):
    from paca.mcp_server.rest import Answer, Refused, Rest

    get, looks = Rest.get, []

    async def throttled_once(rest: Any, *path: object, **query: object) -> Any:
        if path[-1] == UUID(started["conversation"]):
            looks.append(path)
            if len(looks) == 2:
                raise Refused(Answer(429, {"retry-after": "9"}, b'{"code": "throttled"}'))
            if len(looks) == 3:
                await asyncio.to_thread(set_status, started["conversation"], "running", "finished")
        return await get(rest, *path, **query)

    monkeypatch.setattr(Rest, "get", throttled_once)
    assert caller.tool("wait_for_agent", **started)["conversation"]["status"] == "finished"
    assert len(looks) == 3


@pytest.mark.parametrize("version", [OLD, NEW])
def test_server_that_stops_ends_waits_with_an_answer(transactional_db, world, version):
    token = tokens.create(world.user, name="editor", scopes=[], by=world.user)[1]
    with running("paca.asgi:application") as live:
        caller = McpCaller(live.port, token, version)
        found = caller.tool(
            "start_agent", project=world.project.pk, agent=world.agent.pk, instruction="Hello"
        )
        wait = Wait(
            caller,
            project=str(world.project.pk),
            conversation=found["conversation"]["id"],
            wait_seconds=50,
        )
        until_waiting(1)
    wait.join(60)
    assert wait.given["is_working"] is True
    assert "again" in wait.given["next_step"]


def test_client_that_leaves_ends_its_wait(server: LiveServer, caller: McpCaller, started):
    import http.client
    import json

    for version in (OLD, NEW):
        meta = {
            "progressToken": 7,
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": "wait_for_agent", "arguments": started, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": version,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "wait_for_agent",
            "Authorization": f"Bearer {caller.token}",
        }
        line.request("POST", "/mcp/", json.dumps(body), headers)
        answer = line.getresponse()
        while b"notifications/progress" not in (shown := answer.readline()):
            assert shown, "no progress was told"
        assert b'"total":45' in shown
        until_waiting(1)
        answer.close()
        line.close()
        until_waiting(0)
