"""What a run stores, shows and asks holds no secret that Paca knows."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from paca import events
from paca.agents import encryption
from paca.common import logs
from paca.common.secret_removal import SecretMask
from paca.conversations.models import ToolCall
from paca.engine.llm.base import (
    Message,
    Reply,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)
from paca.engine.llm.secret_masking import MaskingLLM
from paca.engine.turn import TurnOutcome
from paca.sandbox.base import SandboxSpec
from paca.worker import background_looks, background_watch
from paca.worker.background_looks import Look
from paca.worker.event_masking import (
    mask_of_agent,
    mask_of_conversation,
    masked_facts,
    masked_outcome,
)
from paca.worker.full_output_store import FullOutputStore
from paca.worker.run_log import CachedHistory, RunLog
from tests.conversations.chat import Chat, bash_call, download
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace

SECRET = "canary-0123456789-abcdef"
MASK = SecretMask([SECRET])


class Buffer:
    """Keeps what viewers are sent."""

    def __init__(self) -> None:
        self.added: list[Any] = []
        self.forgotten: list[str] = []

    def add(self, event: Any) -> None:
        self.added.append(event)

    def forget(self, call_id: str) -> None:
        self.forgotten.append(call_id)


class DirectDatabase:
    """Calls in the thread and the transaction of the test."""

    async def call(self, function: Any, *arguments: Any, **options: Any) -> Any:
        return await sync_to_async(function)(*arguments, **options)


DATABASE: Any = DirectDatabase()


BUFFER: Any = Buffer()


@pytest.fixture
def chat(db: None) -> Chat:
    return Chat(llm_api_key=SECRET)


def test_events_of_a_run_are_masked_before_they_are_stored(chat: Chat) -> None:
    lease = chat.start_turn(chat.start("First")["conversation"])
    log = RunLog(lease, CachedHistory(), [], database=DATABASE, stream_buffer=BUFFER, mask=MASK)
    call, result = bash_call(f"echo {SECRET}", f"{SECRET} [... 1 KiB left out ...]\n6789-abcdef")
    async_to_sync(log.commit)(events.MessageSpoken(call_id="m", text=SECRET), call, result)
    rows = chat.api.get(chat.url(lease.conversation_id, "events/")).content.decode()
    assert "***" in rows
    assert "canary" not in rows
    assert "6789-abcdef" not in rows
    assert "canary" not in str(ToolCall.objects.values())


def test_live_output_is_masked_wherever_it_is_cut() -> None:
    buffer: Any = Buffer()
    lease: Any = None
    log = RunLog(lease, CachedHistory(), [], database=DATABASE, stream_buffer=buffer, mask=MASK)
    call = uuid.uuid4().hex
    for at, piece in enumerate(("token: ", SECRET[:9], SECRET[9:], " end\n")):
        log.show_live(events.ToolProgressed(call_id=call, offset=at, text=piece))
    assert [event.text for event in buffer.added] == ["token: ", "***", " end\n"]
    log.mask = SecretMask()
    log.show_live(events.ToolProgressed(call_id=call, offset=0, text=SECRET))
    assert buffer.added[-1].text == SECRET  # the mask of the turn counts


def test_what_a_provider_wants_back_unchanged_stays_and_unchanged_events_are_the_same() -> None:
    thought = events.ThoughtRecorded(call_id="c", text="Hm.", signature=SECRET)
    assert masked_facts(thought, MASK) is thought
    outcome = TurnOutcome("failed", "configuration", f"The server said {SECRET}.")
    assert masked_outcome(outcome, MASK).detail == "The server said ***."


async def ask(llm: MaskingLLM, request: Request) -> list[Any]:
    return [chunk async for chunk in llm.stream(request)]


def test_request_holds_no_secret_and_what_was_masked_before_is_kept() -> None:
    asked: list[Request] = []

    class Model:
        async def stream(self, request: Request) -> Any:
            asked.append(request)
            yield Reply((Text(f"It is {SECRET}"),), StopReason.END, Usage())

    first = Message("user", (Text(f"The token is {SECRET}"),))
    use = ToolUse("c", "bash", {"command": f"echo {SECRET}"})
    reply = Message("assistant", (Thinking(SECRET, signature="s"), use))
    result = Message("user", (ToolResult("c", SECRET, source="bash"),))
    tool = ToolSpec("t", f"Uses {SECRET}.", {"default": SECRET})
    request = Request("m", f"System {SECRET}", (first,), tools=(tool,))
    llm = MaskingLLM(Model(), MASK)
    (said,) = async_to_sync(ask)(llm, request)
    async_to_sync(ask)(llm, replace(request, messages=(first, reply, result)))
    assert said.text == "It is ***"
    assert "canary" not in str(asked)
    assert asked[1].messages[0] is asked[0].messages[0]
    assert asked[1].messages[1].blocks == (replace(use, arguments={"command": "echo ***"}),)


def test_mask_of_a_run_leaves_out_what_cannot_be_decrypted(chat: Chat, settings: Any) -> None:
    mask = mask_of_agent(chat.world.agent.pk)
    assert mask.text(f"{SECRET} paca_{'a1' * 32}") == "*** ***"
    conversation = chat.start("Hello")["conversation"]
    assert mask_of_conversation(conversation) is mask
    assert mask_of_conversation(uuid.uuid4()).text(SECRET) == SECRET
    settings.ENCRYPTION_KEY = ["8pCqzq9cP5hgG7oQxZ3hZ3yYb6y4lTz3r0l8m0v5f2k="]
    assert mask_of_agent(chat.world.agent.pk).text(SECRET) == SECRET


def test_full_output_is_masked_before_it_is_kept(chat: Chat) -> None:
    conversation = chat.start("Hello")["conversation"]
    lease = chat.start_turn(conversation, *bash_call("ls", "long"))
    call = ToolCall.objects.get().pk
    workspace = FakeSandboxWorkspace({"out.txt": b"a\xff " + SECRET.encode() * 2 + b" z"})

    async def opened() -> FakeSandboxWorkspace:
        return workspace

    size = async_to_sync(FullOutputStore(DATABASE, MASK).keep)(call.hex, "out.txt", opened)
    answer = chat.api.get(chat.url(conversation, f"calls/{call}/output/"))
    assert (download(answer), size) == (b"a\xff ****** z", 11)
    assert lease.conversation_id


def test_output_of_background_commands_is_masked() -> None:
    ended = events.BackgroundFinished(call_id="c", handle="bg1", output=f"x {SECRET}")
    running = events.BackgroundProgressed(
        call_id="d", output=f"{SECRET[6:]} and {SECRET[:12]}", seconds=1
    )
    found = Look((ended,), (running,)).masked(MASK)
    assert found.ended[0].output == "x ***"
    assert found.running[0].output == "*** and ***"


def test_idle_conversation_has_its_background_output_masked(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = uuid.UUID(chat.start("Hello")["conversation"])
    shown: list[Any] = []
    monkeypatch.setattr(background_looks, "show", lambda _, news: shown.extend(news))
    running = events.BackgroundProgressed(call_id=uuid.uuid4().hex, output=SECRET, seconds=1)

    async def look(*_: Any) -> Look:
        return Look((), (running,))

    class Sandbox:
        async def detach(self) -> None: ...

    class Backend:
        async def attach(self, *_: Any, **__: Any) -> Sandbox:
            return Sandbox()

    class Manager:
        async def choose_backend(self, _: str) -> Backend:
            return Backend()

        def with_open_gate(self, spec: SandboxSpec) -> SandboxSpec:
            return spec

    monkeypatch.setattr(background_looks, "look", look)
    idle = background_watch.IdleConversation(conversation, 1, SandboxSpec(conversation), ())
    manager: Any = Manager()
    look_at = async_to_sync(background_watch._look)
    look_at(idle, DATABASE, manager, background_looks.LiveProgress())
    assert [each.output for each in shown] == ["***"]


def test_logs_mask_what_this_process_has_met(settings: Any) -> None:
    stored = encryption.encrypt(
        '{"secret": "value-of-an-object", "url": "https://service.example/path"}'
    )
    plain = encryption.encrypt("value-alone-123")
    assert logs.masked("value-of-an-object value-alone-123") == "*** ***"
    assert logs.masked("https://service.example/path") == "https://service.example/path"
    assert encryption.decrypt(plain) == "value-alone-123"
    assert logs.masked(encryption.decrypt(stored)[:10]) == '{"secret":'


def test_cut_line_of_the_log_holds_no_part_of_a_secret() -> None:
    encryption.encrypt("value-at-the-cut-0123456789")
    # Numbers, as another test may have had a secret of one letter many times.
    before, after = "".join(map(str, range(2000)))[:3990], "".join(map(str, range(100)))
    line = logs.shortened(f"{before}value-at-the-cut-0123456789{after}")
    assert "value" not in line
    assert line.startswith(f"{before}***{after[:3]}")
