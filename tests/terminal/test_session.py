"""The client against a scripted server: cuts, decisions, feedback, exit codes and what it shows."""

import asyncio
import contextlib
import io
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from websockets.asyncio.server import ServerConnection, serve

from paca.terminal import connection as connection_module
from paca.terminal.failures import ClientFailure, ExitCode
from paca.terminal.options import Options
from paca.terminal.places import Place
from paca.terminal.rest import ServerAddress
from paca.terminal.screen import Screen
from paca.terminal.session import Session

pytestmark = pytest.mark.anyio
CONVERSATION = {"id": "c1", "last_seq": 0, "status": "finished"}
COMMAND = {
    "id": "k9",
    "handle": "bg1",
    "state": "running",
    "command": "make all",
    "cause": "",
    "exit_code": None,
}
PLACE = Place({"id": "p1", "name": "Harbor"}, {"id": "a1", "handle": "rosa"})
REQUEST = {"call_id": "k1", "tool": "bash", "subject": "rm a", "arguments": {"command": "rm a"}}


class FakeRest:
    """Answers as the API does, and keeps what it was asked."""

    def __init__(self, port: int) -> None:
        self.address = ServerAddress(f"http://127.0.0.1:{port}", "paca_token")
        self.asked: list[tuple] = []

    async def post(self, path, body=None):
        self.asked.append((path, body))
        if path.endswith("stop/"):
            return COMMAND | {"state": "stopping"}
        return {"conversation": "c1", "session": "s1", "turn": 1, "id": "c2", "last_seq": 0}

    async def patch(self, path, body):
        self.asked.append((path, body))
        return body

    async def get(self, path, **query):
        if path.endswith("background/"):
            return {"results": [COMMAND]}
        return CONVERSATION | {"usage": {"input": 1200, "output": 30, "cost_usd": 0.5}}

    async def pages(self, path, **query):
        for name in ("tidy",):
            yield {"name": name}


class Script:
    """The server: each connection runs the next of ``parts``, and the last one again."""

    def __init__(self, *parts: Callable[["Script", ServerConnection], Awaitable[None]]) -> None:
        self.parts, self.seq = list(parts), 0
        self.received: list[dict] = []
        self.after: list[int] = []

    async def __call__(self, socket: ServerConnection) -> None:
        self.after.append(int(socket.request.path.rpartition("=")[2]))
        part = self.parts.pop(0) if len(self.parts) > 1 else self.parts[0]
        with contextlib.suppress(Exception):
            await part(self, socket)

    async def event(self, socket, kind, **data):
        self.seq += 1
        frame = {"type": f"agent.{kind}", "seq": self.seq, "source": "agent", "turn": 1}
        await socket.send(json.dumps({**frame, "data": data}))

    async def live(self, socket, kind, **data):
        await socket.send(json.dumps({"type": f"agent.{kind}", "seq": None, "data": data}))

    async def ready(self, socket, status="finished"):
        frame = {"type": "ready", "seq": self.seq, "conversation": {"status": status}}
        await socket.send(json.dumps(frame))

    async def command(self, socket) -> dict:
        """The next command, acknowledged."""
        frame = json.loads(await socket.recv())
        self.received.append(frame)
        ack = {"type": "ack", "client_id": frame["client_id"], "command": frame["type"]}
        if frame["type"] in ("message", "interrupt"):
            await self.event(
                socket, "message.received", text=frame["text"], client_id=frame["client_id"]
            )
            ack["event_seq"] = self.seq
        await socket.send(json.dumps(ack))
        return frame

    async def answer(self, socket, text):
        await self.event(socket, "message.spoken", text=text, call_id=f"m{self.seq}")
        await self.event(socket, "conversation.finished", reason="answered")


async def when(true: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - nothing tells what a terminal shows
            await asyncio.sleep(0.005)


class Client:
    """A session with the scripted server, and what it has printed."""

    def __init__(self, port: int, **options) -> None:
        self.rest, self.out, self.notes = FakeRest(port), io.StringIO(), io.StringIO()
        typed, self._keys = os.pipe()
        asks = options.pop("asks", False)
        self.session = Session(
            self.rest,
            PLACE,
            Screen(self.out, self.out if asks else self.notes, colours=False),
            Options(input_descriptor=typed if asks else None, **options),
        )

    def type(self, text: str) -> None:
        os.write(self._keys, text.encode())

    def press_ctrl_c(self) -> None:
        self.session.interrupt()

    async def until(self, pattern: str) -> None:
        """Wait until all that is shown matches the pattern."""
        await when(lambda: re.search(pattern, self.out.getvalue(), re.S))

    async def run(self, conversation=CONVERSATION) -> ExitCode:
        async with asyncio.timeout(60):
            code = await self.session.run(conversation)
        os.close(self._keys)
        return code


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    monkeypatch.setattr(connection_module, "FIRST_PAUSE_SECONDS", 0)


@contextlib.asynccontextmanager
async def scripted(*parts, **options) -> AsyncIterator[tuple[Script, Client]]:
    script = Script(*parts)
    async with serve(script, "127.0.0.1", 0) as server:
        yield script, Client(server.sockets[0].getsockname()[1], **options)


async def wait(script, socket):
    await socket.wait_closed()


async def test_message_is_answered_as_it_streams_with_a_line_for_each_call():
    async def part(script, socket):
        await script.ready(socket)
        await script.command(socket)
        await script.live(socket, "text.streamed", call_id="m", offset=0, text="I lo")
        await script.live(socket, "text.streamed", call_id="m", offset=2, text="look\x1b[2J")
        await script.event(socket, "message.spoken", call_id="m", text="I look\x1b[2J now.")
        await script.event(socket, "tool.called", call_id="k", tool="bash", subject="ls")
        await script.event(socket, "tool.started", call_id="k")
        await script.event(socket, "tool.returned", call_id="k", output="a", seconds=0.31)
        await script.event(socket, "tool.called", call_id="k2", tool="bash", subject="nope")
        failed = {"output": "not\nfound", "failed": True, "cause": "failed"}
        await script.event(socket, "tool.returned", call_id="k2", **failed)
        await script.event(socket, "something.new", text="of a later version")
        await script.answer(socket, "Done.")
        await wait(script, socket)

    async with scripted(part, message="Look") as (script, client):
        assert await client.run() is ExitCode.ANSWERED
    assert client.out.getvalue() == (
        "I look␛[2J now.\n✓ bash  ls  0.3 s\n✗ bash  nope  failed, 0.0 s\n· not …\nDone.\n"
    )


async def test_cut_loses_and_doubles_nothing():
    async def cut_before_the_ack(script, socket):
        await script.ready(socket)
        script.received.append(json.loads(await socket.recv()))
        await script.event(socket, "message.received", text="Hi", client_id="x")
        await script.live(socket, "text.streamed", call_id="m", offset=0, text="Hel")
        await socket.close(1012)

    async def second(script, socket):
        script.seq = 0
        await script.event(socket, "message.received", text="Hi", client_id="x")  # seen before
        await script.ready(socket, "running")
        await script.live(socket, "text.streamed", call_id="m", offset=0, text="Hello")
        script.received.append(json.loads(await socket.recv()))
        ack = {"type": "ack", "client_id": script.received[-1]["client_id"], "command": "message"}
        await socket.send(json.dumps({**ack, "event_seq": 1, "duplicate": True}))
        await script.event(socket, "message.spoken", call_id="m", text="Hello Ada")
        await script.event(socket, "conversation.finished")
        await wait(script, socket)

    async with scripted(cut_before_the_ack, second, message="Hi") as (script, client):
        assert await client.run() is ExitCode.ANSWERED
    assert script.after == [0, 1]
    assert len({each["client_id"] for each in script.received}) == 1
    assert [each["type"] for each in script.received] == ["message"] * 2
    assert client.out.getvalue().count("somebody: Hi") == 1
    assert client.out.getvalue().endswith("Hello Ada\n")
    assert "trying again" in client.notes.getvalue()
    assert "Connected again." in client.notes.getvalue()


async def test_decisions_feedback_and_stop_are_typed_in_the_terminal():
    async def part(script, socket):
        await script.ready(socket)
        await script.command(socket)
        await script.event(socket, "turn.started", number=1)
        await script.event(socket, "approval.requested", **REQUEST)
        assert (await script.command(socket))["decision"] == "approve"
        await script.event(socket, "approval.given", call_id="k1", decision="approve", by="Ada")
        await script.event(socket, "approval.requested", **REQUEST | {"call_id": "k2"})
        assert (await script.command(socket))["decision"] == "deny"
        await script.event(socket, "approval.given", call_id="k2", decision="deny", by="Ada")
        await script.event(socket, "message.spoken", text="Working.", call_id="m")
        await script.command(socket)
        await script.answer(socket, "Other way.")
        await script.command(socket)
        await script.event(socket, "turn.started", number=2)
        await script.event(socket, "message.spoken", text="Again.", call_id="m2")
        await script.command(socket)
        await script.event(socket, "conversation.stopped", reason="by_person")
        await wait(script, socket)

    async with scripted(part, asks=True) as (script, client):
        running = asyncio.create_task(client.run())
        await client.until("> $")
        client.type("Clean up\n")
        await client.until(r"rm a\n.*run it\?.*> $")
        client.type("y\n")
        await client.until(r"approved by Ada.*run it\?.*> $")
        client.type("n\n")
        await client.until("why not.*> $")
        client.type("too much\n")
        await client.until("Working.")
        client.press_ctrl_c()
        await client.until("feedback.*> $")
        client.type("another way\n")
        await client.until(r"Other way.\n> $")
        client.type("/usage\n//slash\n")
        await client.until("1,200 tokens in")
        await client.until("Again.")
        client.press_ctrl_c()
        await client.until("feedback.*feedback.*> $")
        client.type("\n")
        await client.until("stopped: by person\n> $")
        client.press_ctrl_c()
        await client.until("again leaves")
        client.press_ctrl_c()
        assert await running is ExitCode.INTERRUPTED
    sent = [{k: v for k, v in each.items() if k != "client_id"} for each in script.received]
    assert sent == [
        {"type": "message", "text": "Clean up"},
        {"type": "approve", "call_id": "k1", "decision": "approve"},
        {"type": "approve", "call_id": "k2", "decision": "deny", "reason": "too much"},
        {"type": "interrupt", "text": "another way"},
        {"type": "message", "text": "/slash"},
        {"type": "stop"},
    ]


async def test_questions_and_plans_of_the_agent_are_answered_in_the_terminal():
    async def part(script, socket):
        await script.event(socket, "turn.started", number=1)
        choices = [{"label": "Red", "description": "as before"}, {"label": "Blue"}]
        asked = {"call_id": "q1", "question": "Which colour?", "choices": choices}
        await script.event(socket, "question.asked", **asked)
        await script.ready(socket, "waiting")
        await script.command(socket)
        await script.event(socket, "question.answered", call_id="q1", text="Blue", by="Ada")
        plan = {"call_id": "p1", "title": "Paint", "steps": ["Clean", "Paint"]}
        await script.event(socket, "plan.proposed", **plan)
        await script.command(socket)
        await script.event(socket, "plan.decided", call_id="p1", decision="reject", by="Ada")
        await script.event(socket, "plan.proposed", **plan | {"call_id": "p2"})
        await script.command(socket)
        await script.event(socket, "plan.decided", call_id="p2", decision="approve", by="Ada")
        await script.answer(socket, "Painted.")
        await wait(script, socket)

    async with scripted(part, asks=True) as (script, client):
        running = asyncio.create_task(client.run())
        await client.until("Which colour.*1  Red: as before.*2  Blue.*number> $")
        client.type("2\n")
        await client.until("answered by Ada: Blue.*2  Paint.*by this plan.*> $")
        client.type("no\n")
        await client.until("why not.*> $")
        client.type("too quick\n")
        await client.until("rejected.*by this plan.*> $")
        client.type("y\n")
        await client.until("Painted.\n> $")
        client.type("/quit\n")
        assert await running is ExitCode.ANSWERED
    sent = [{k: v for k, v in each.items() if k != "client_id"} for each in script.received]
    assert sent == [
        {"type": "answer", "question_id": "q1", "text": "Blue"},
        {"type": "plan", "call_id": "p1", "decision": "reject", "feedback": "too quick"},
        {"type": "plan", "call_id": "p2", "decision": "approve"},
    ]


async def test_slash_commands_reach_the_server_and_a_skill_is_a_message():
    async def part(script, socket):
        await script.ready(socket)
        for _ in range(3):
            await script.command(socket)
        await wait(script, socket)

    async with scripted(part, asks=True) as (script, client):
        running = asyncio.create_task(client.run())
        await client.until("> $")
        client.type("/pause\n/continue\n/compact names\n/title Docks\n/nonsense\n/tidy now\n")
        await client.until("There is no /nonsense")
        await when(lambda: len(script.received) == 3)
        client.type("/fork\n/new\nFirst\n")
        await client.until("This is the fork c2 now.*begins a new conversation")
        client.type("/quit\n")
        assert await running is ExitCode.ANSWERED
    assert [each["type"] for each in script.received] == ["pause", "continue", "message"]
    assert client.rest.asked == [
        ("projects/p1/conversations/c1/compact/", {"focus": "names"}),
        ("projects/p1/conversations/c1/", {"title": "Docks"}),
        ("projects/p1/conversations/c1/fork/", {"seq": 1}),
        ("projects/p1/agents/a1/chat-sessions/", {"message": "First"}),
    ]


async def test_background_commands_are_told_listed_and_stopped():
    async def part(script, socket):
        await script.ready(socket)
        await script.event(socket, "background.started", call_id="k9", handle="bg1")
        ended = {"handle": "bg2", "command": "make", "cause": "cancelled", "by": "Ada"}
        await script.event(socket, "background.finished", call_id="k8", **ended)
        await wait(script, socket)

    async with scripted(part, asks=True) as (_, client):
        running = asyncio.create_task(client.run())
        await client.until(r"bg1 runs in the background.*bg2 \(make\) ended, cancelled by Ada")
        client.type("/background\n/background stop bg7\n/background stop bg1\n/quit\n")
        await running
    shown = client.out.getvalue()
    assert "bg1  running  make all" in shown
    assert "There is no background command bg7." in shown
    assert "bg1  stopping  make all" in shown
    assert client.rest.asked == [("projects/p1/conversations/c1/background/k9/stop/", None)]


@pytest.mark.parametrize(
    ("event", "data", "code"),
    [
        ("conversation.paused", {"reason": "step_limit"}, ExitCode.NOT_ANSWERED),
        ("conversation.failed", {"code": "x", "message": "No key."}, ExitCode.NOT_ANSWERED),
        ("approval.requested", REQUEST, ExitCode.WAITS_FOR_A_PERSON),
    ],
)
async def test_single_run_in_a_pipe_ends_with_the_code_of_its_end(event, data, code):
    async def part(script, socket):
        await script.ready(socket)
        await script.command(socket)
        await script.event(socket, event, **data)
        await wait(script, socket)

    async with scripted(part, message="Go", as_json=True) as (_script, client):
        assert await client.run() is code
    lines = [json.loads(line) for line in client.out.getvalue().splitlines()]
    assert [line["type"] for line in lines] == ["agent.message.received", f"agent.{event}", "end"]
    assert (lines[-1]["conversation"], lines[-1]["exit_code"]) == ("c1", int(code))


@pytest.mark.parametrize(
    ("close_code", "exit_code"),
    [(4401, ExitCode.REFUSED), (4403, ExitCode.REFUSED), (4404, ExitCode.WRONG_REQUEST)],
)
async def test_socket_that_is_refused_is_not_tried_again(close_code, exit_code):
    async def part(script, socket):
        await socket.close(close_code)

    async with scripted(part, message="Go") as (script, client):
        with pytest.raises(ClientFailure) as raised:
            await client.run()
    assert (raised.value.exit_code, len(script.after)) == (exit_code, 1)


async def test_refused_message_is_shown_again_and_not_lost():
    async def part(script, socket):
        await script.ready(socket)
        frame = json.loads(await socket.recv())
        refused = {"type": "error", "client_id": frame["client_id"], "code": "agent_is_retired"}
        await socket.send(json.dumps({**refused, "detail": "This agent is retired."}))
        await wait(script, socket)

    async with scripted(part, asks=True) as (_script, client):
        running = asyncio.create_task(client.run())
        await client.until("> $")
        client.type("Long words\n")
        await client.until("This agent is retired.\nNot sent: Long words")
        client.type("/quit\n")
        assert await running is ExitCode.ANSWERED


async def test_ctrl_c_gives_up_what_waits_for_a_server_that_hangs_and_then_leaves():
    async def part(script, socket):
        await script.ready(socket)
        await wait(script, socket)

    async with scripted(part, asks=True) as (_script, client):
        asked = hang(client)
        running = asyncio.create_task(client.run())
        await client.until("> $")
        client.type("/compact\n")
        await asked.wait()
        client.press_ctrl_c()
        await client.until("Given up; the server may have it.*Ctrl.C again leaves.\n> $")
        client.press_ctrl_c()
        assert await running is ExitCode.INTERRUPTED


async def test_ctrl_c_ends_a_single_run_whose_message_the_server_does_not_take():
    async with scripted(wait, message="Go") as (_script, client):
        asked = hang(client)
        running = asyncio.create_task(client.run(None))
        await asked.wait()
        client.press_ctrl_c()
        assert await running is ExitCode.INTERRUPTED


def hang(client: Client) -> asyncio.Event:
    """Let no request be answered; the event tells that one was sent."""
    asked = asyncio.Event()

    async def post(path, body=None):
        asked.set()
        await asyncio.Event().wait()

    client.rest.post = post
    return asked
