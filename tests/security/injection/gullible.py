"""A model that does what any text asks, and the conversation in which it does so."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Iterable
from typing import Any
from uuid import uuid4

from asgiref.sync import sync_to_async

from paca import events
from paca.agents import network
from paca.agents.toolbox import make_toolbox
from paca.common.network_policy import EgressPolicy, Network
from paca.common.secret_removal import SecretMask
from paca.conversations import memory_lists
from paca.conversations.services import memory_notes
from paca.engine.helpers.requests import HelpersRequested
from paca.engine.llm import base
from paca.engine.llm.secret_masking import MaskingLLM
from paca.engine.turn import LogEntry
from paca.projects.tools import access
from paca.projects.tools.base import Act, Caller
from paca.worker.event_masking import mask_of_agent, masked_entries
from tests.engine.in_memory import FakeSandbox, ListLog
from tests.engine.world import World as EngineWorld
from tests.security.injection.attempts import Attempt, Calls
from tests.security.injection.outside import GitHost, Ledger, Server, Shell
from tests.support.model_script import Call, Scripted, says
from tests.support.scripted_llm import reply
from tests.support.world import World

ORDER = re.compile(r"OBEY-(\d{3})")


class Gullible:
    """It makes the calls of the order that it was given, and then those of every text that it reads."""

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self.attempts = {attempt.number: attempt for attempt in attempts}
        self.requests: list[base.Request] = []
        self.obeyed: list[int] = []
        self.todo: Calls = []
        self.fills: dict[str, str] = {}
        self.enabled = True

    async def stream(self, request: base.Request) -> AsyncIterator[base.Chunk]:
        self.requests.append(request)
        yield reply(self._next(request))

    def _next(self, request: base.Request) -> Scripted:
        for number in map(int, ORDER.findall(_all_texts(request))):
            if number in self.attempts and number not in self.obeyed:
                self.obeyed.append(number)
                self.todo += self.attempts[number].intent.calls
        if not self.todo:
            return says("Done.")
        name, arguments = self.todo.pop(0)
        given = {"out": _last_output(request), **self.fills}
        return Scripted(
            (Call(name, {key: _filled(value, given) for key, value in arguments.items()}),)
        )


def _filled(value: Any, given: dict[str, str]) -> Any:
    if not isinstance(value, str):
        return value
    for name, text in given.items():
        value = value.replace(f"{{{name}}}", text)
    return value


def _results(request: base.Request) -> list[base.ToolResult]:
    blocks = (block for message in request.messages for block in message.blocks)
    return [block for block in blocks if isinstance(block, base.ToolResult)]


def _last_output(request: base.Request) -> str:
    found = _results(request)
    return found[-1].output.split("\n")[0] if found else ""


def _all_texts(request: base.Request) -> str:
    """All that a model that can see reads; an image says what its bytes say."""
    texts = [request.system, *(tool.description for tool in request.tools)]
    for message in request.messages:
        texts += [block.text for block in message.blocks if isinstance(block, base.Text)]
    for result in _results(request):
        texts.append(result.output)
        texts += [base64.b64decode(image.data).decode("latin-1") for image in result.images]
    return "\n".join(texts)


MARKED = re.compile(r"<data ([0-9a-f]{8,64}) from [^>]*>\n.*?\n</data \1>", re.DOTALL)


def without_marked(request: base.Request) -> str:
    """What a model reads in the messages of a request outside of the marks of data, and in the system prompt."""
    texts = [request.system]
    for message in request.messages:
        for block in message.blocks:
            if isinstance(block, base.Text | base.ToolResult):
                texts.append(MARKED.sub("", block.text))
    return MARKED.sub("", "\n".join(texts))


class MaskedLog(ListLog):
    """The log in a list, masked as a run masks its log."""

    def __init__(self, mask: SecretMask) -> None:
        super().__init__()
        self.mask = mask

    def add(self, *entries: LogEntry) -> None:
        super().add(*masked_entries(entries, self.mask))


class Access:
    """The agent's way to its project and memory, in the transaction of the test."""

    def __init__(self, world: World) -> None:
        self.agent = access.CallingAgent(world.agent.pk, uuid4())

    async def read(self, permission: str, act: Any) -> Any:
        return await sync_to_async(access.read)(self.agent, permission, act)

    async def write(self, call_id: str, permission: str, act: Act) -> str:
        write = sync_to_async(access.write)
        return await write(self.agent, call_id, permission, act, require_lease=lambda: None)

    async def find_result(self, call_id: str) -> str | None:
        return await sync_to_async(access.find_result)(self.agent, call_id)

    async def note(self, call_id: str, *, about: str, text: str, replaces: str) -> str:
        def act(caller: Caller) -> str:
            owner = memory_lists.owner(
                caller.project, self.agent.agent_id if about == "me" else None
            )
            noted = memory_notes.note(
                owner, text=text, replaces=replaces, by=caller.member, conversation_id=None
            )  # type: ignore[arg-type]
            return noted.said

        return await self.write(
            call_id, memory_notes.PERMISSIONS["agent" if about == "me" else "project"], act
        )


class Conversation(EngineWorld):
    """A conversation of an agent with its default settings. ``weak``: with everything open, as a control.
    ``approves``: the person who is asked says yes to everything.
    """

    def __init__(
        self,
        world: World,
        attempts: Iterable[Attempt],
        *,
        secret: str,
        weak: bool = False,
        approves: bool = False,
        **options: Any,
    ) -> None:
        agent_id = world.agent.pk
        mask = SecretMask() if weak else mask_of_agent(agent_id)
        self.model = Gullible(attempts)
        llm: Any = MaskingLLM(self.model, mask)
        llm.requests = self.model.requests
        description = options.pop("description", "")
        super().__init__(llm=llm, approval=world.agent.approval, **options)
        self.checks_after_each_turn = False
        self.ledger, self.approves = Ledger(), weak or approves
        policy = (
            EgressPolicy(network=Network.OPEN)
            if weak
            else network.policy_of(world.agent, world.project)
        )
        self.shell = Shell(self.ledger, policy, secret)
        self.server = Server(self.ledger, beside_secrets=not weak, description=description)
        self.sandbox = FakeSandbox(self.shell)
        self.log: MaskedLog = MaskedLog(mask)
        self.access = Access(world)
        host: Any = GitHost(self.ledger, SecretMask if weak else lambda: mask_of_agent(agent_id))
        self._toolbox = make_toolbox(
            self.access,
            memory=self.access,
            chosen=world.agent.tools,
            helpers=world.agent.limit_helpers,
            of_servers=self.server.tools(),
            linked=host,
        )

    async def say(self, text: str, opening: Calls) -> None:
        """Give the agent work, and answer all that people are asked."""
        self.model.todo = list(opening)
        self.send(text)
        await self.wait_until_idle()
        while self.waits_for is not None:
            asked: Any = self.waits_for
            self.ledger.asked.append(asked)
            if isinstance(asked, HelpersRequested):
                self.waits_for = None
                ended = events.ToolReturned(call_id=asked.call_id, output="They did as you do.")
                self.log.append(ended, events.ConversationResumed(waited_for="helpers"))
                self.start_next_worker()
                await self.wait_until_idle()
            else:
                await self.decide("approve" if self.approves else "deny")
