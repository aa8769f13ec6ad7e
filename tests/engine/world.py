"""One conversation in memory: a list as its log, a scripted model and a fake sandbox workspace.

``World`` runs ``engine.loop.run_until_done`` as a worker does, without a database and without
waits::

    world = World(calls(bash="ls"), says("Done."), commands={"ls": "a.txt"})
    await world.ask("What is there?")
    assert world.status == "finished/answered"
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from paca import events
from paca.engine import call_cancellation
from paca.engine.approvals.person_tools import PersonRequested, people_tools, reason_of
from paca.engine.context.history import History, advance
from paca.engine.limits import TurnLimits
from paca.engine.llm.base import Text
from paca.engine.llm.text_tool_calls.adapter import TextCallingLLM
from paca.engine.loop import run_until_done
from paca.engine.tools.base import AnyTool
from paca.engine.tools.registry import Toolbox, workspace_tools
from paca.engine.turn import (
    ActiveTurn,
    AgentProfile,
    OpenModel,
    ToolServices,
    TurnOutcome,
    TurnServices,
)
from paca.events import Event
from tests.engine.in_memory import FakeSandbox, ListLog
from tests.engine.provider_rules import violations
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace
from tests.support.model_script import Scripted, calls
from tests.support.scripted_llm import Item, ScriptedLLM

PROFILE = AgentProfile(
    name="Rosa",
    model="anthropic/claude-test",
    system="Be brief.",
    limits=TurnLimits(steps=50),
    key_last4="1234",
)


class World:
    """One conversation with its agent. The arguments are the replies of the model.

    ``tools`` are more tools than those of the workspace, and ``off`` those that are switched off. ``llm`` answers in
    place of the replies, and ``compaction_llm`` writes the summaries. ``open_model`` opens the models of other choices,
    and ``key_owner`` is the member whose own key the turn uses.
    """

    def __init__(
        self,
        *replies: Item,
        files: dict[str, bytes | str] | None = None,
        commands: dict[str, Any] | None = None,
        tools: Iterable[AnyTool] = (),
        off: Collection[str] = (),
        ends_run: tuple[type[Exception], ...] = (),
        llm: Any = None,
        compaction_llm: Any = None,
        open_model: OpenModel | None = None,
        key_owner: str = "",
        **profile: Any,
    ) -> None:
        self.log = ListLog()
        self.llm = llm or ScriptedLLM(replies)
        self.compaction_llm = compaction_llm
        self.open_model = open_model
        self.key_owner = key_owner
        self.sandbox = FakeSandbox(FakeSandboxWorkspace(files, commands))
        self.profile = replace(PROFILE, **profile)
        self._toolbox = Toolbox([*workspace_tools(), *people_tools(), *tools], off=off)
        self._ends_run = ends_run
        self.checks_after_each_turn = True
        self.new_limits: dict[int, TurnLimits] = {}
        self.turns = 0
        self.status = ""
        self.outcome: TurnOutcome | None = None
        self.turn: ActiveTurn | None = None
        self._seen_files: dict[str, str] = {}
        self.waits_for: PersonRequested | None = None
        self._ended_by: TurnOutcome | None = None
        self._engine: asyncio.Task[TurnOutcome] | None = None
        self._task: asyncio.Task[None] | None = None

    # --- what people do ---------------------------------------------------------------------------

    def send(self, text: str, **facts: Any) -> None:
        """Write a message. It starts a turn if none runs, and ends the wait for an approval.

        An unattended agent gets it as the text of a task.
        """
        trigger = "task_assigned" if self.profile.unattended else "chat_message"
        self.log.append(events.MessageReceived(text=text, trigger=trigger, **facts))
        if self.waits_for is not None:
            self._supersede("message")
        else:
            self.start()

    async def ask(self, text: str, *replies: Item, **facts: Any) -> None:
        """Write a message and wait until the conversation is idle."""
        self.llm.replies.extend(replies)
        self.send(text, **facts)
        await self.wait_until_idle()

    async def proceed(self) -> None:
        """Run a turn without a new message, as Continue does."""
        self.start()
        await self.wait_until_idle()

    async def decide(self, decision: str, **facts: Any) -> None:
        """Decide on the call that waits, and wait until the conversation is idle."""
        self.give(decision, **facts)
        await self.wait_until_idle()

    def give(self, decision: str, **facts: Any) -> None:
        """Decide on the call that waits."""
        assert self.waits_for is not None
        given = {"decision": decision, "by": "Ada", **facts}
        self._end_wait(events.ApprovalGiven(call_id=self.waits_for.call_id, **given))

    async def answer(self, text: str) -> None:
        """Answer the question that waits, and wait until the conversation is idle."""
        self.give_answer(text)
        await self.wait_until_idle()

    def give_answer(self, text: str) -> None:
        """Answer the question that waits."""
        assert self.waits_for is not None
        self._end_wait(events.QuestionAnswered(call_id=self.waits_for.call_id, text=text, by="Ada"))

    def give_plan(self, decision: str, **facts: Any) -> None:
        """Decide on the plan that waits."""
        plan = self.waits_for
        assert isinstance(plan, events.PlanProposed)
        steps = [{"text": step, "state": "open"} for step in plan.steps]
        given = {"decision": decision, "title": plan.title, "steps": steps, "by": "Ada", **facts}
        self._end_wait(events.PlanDecided(call_id=plan.call_id, **given))

    async def decide_plan(self, decision: str, **facts: Any) -> None:
        """Decide on the plan that waits, and wait until the conversation is idle."""
        self.give_plan(decision, **facts)
        await self.wait_until_idle()

    def expire(self) -> None:
        """Let the time for a decision run out."""
        assert self.waits_for is not None
        self._end_wait(events.ApprovalExpired(call_id=self.waits_for.call_id))

    def _supersede(self, cause: str) -> None:
        assert self.waits_for is not None
        call_id = self.waits_for.call_id
        self._end_wait(events.ApprovalSuperseded(call_id=call_id, cause=cause, by="Ada"))

    def _begin_wait(self, request: PersonRequested) -> None:
        """Store the request and give up the claim, unless somebody was first."""
        waiting = events.ConversationWaiting(reason=reason_of(request))
        self.log.append(*self.log.take_added(), request, waiting)
        self.waits_for, self.status = request, f"waiting/{waiting.reason}"
        if self._ended_by is not None or self.log.inbox:
            self._supersede("stop" if self._ended_by else "message")

    def _end_wait(self, event: Event) -> None:
        """Store what ends the wait, and let another worker carry the turn on."""
        self.waits_for = None
        self.log.append(event, events.ConversationResumed(waited_for="approval"))
        self.start_next_worker()

    def stop(self) -> None:
        """End the turn and the messages that wait. A later message starts the next turn."""
        self.log.inbox.clear()
        if self.waits_for is not None:
            self._ended_by = TurnOutcome("stopped", "by_person")
            self._supersede("stop")
        else:
            self._end_turn_early(TurnOutcome("stopped", "by_person"))

    def stop_before_the_next_worker(self) -> None:
        """Stop the conversation while no worker has it: the next one ends the open calls."""
        self._ended_by = TurnOutcome("stopped", "by_person")

    def interrupt(self, text: str) -> None:
        """Write a message that ends the running turn."""
        self.log.append(events.MessageReceived(text=text, on_busy="interrupt"))
        if self.waits_for is not None:
            self._ended_by = TurnOutcome("stopped", "interrupted")
            self._supersede("message")
            return
        if self.is_running:
            self._end_turn_early(TurnOutcome("stopped", "interrupted"))
        self.start()

    def pause(self) -> None:
        if self.turn is not None:
            self.turn.pause_asked_by = "Ada"

    # --- what a worker does -----------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def wait_until_idle(self) -> None:
        while self._task is not None and not self._task.done():
            await self._task
        if self._task is not None:
            self._task.result()

    async def wait_until(self, true: Callable[[], Any]) -> None:
        """Let the conversation run until ``true()`` holds."""
        for _ in range(1000):
            if true():
                return
            await asyncio.sleep(0)
        raise AssertionError(f"it does not come true: {self.event_types}")

    @property
    def can_lose_worker(self) -> bool:
        """Whether the engine runs and nobody has ended the turn."""
        engine_runs = self._engine is not None and not self._engine.done()
        return self.is_running and engine_runs and self._ended_by is None

    async def kill_worker(self) -> None:
        """End the worker in the middle of its work. It commits nothing more."""
        assert self._task is not None
        assert self._engine is not None
        self._task.cancel()
        self._engine.cancel()
        await asyncio.wait({self._task, self._engine})
        self.log.take_added()

    def start_next_worker(self) -> None:
        """Run the open turn in another worker, which knows the stored events only."""
        self.sandbox.is_attached = False
        self._seen_files = {}
        self._task = asyncio.create_task(self._run_turns(started=True))

    async def take_over(self) -> None:
        self.start_next_worker()
        await self.wait_until_idle()

    def start(self) -> None:
        """Start a turn if none runs."""
        if not self.is_running:
            if self._task is not None:
                self._task.result()  # raises what the turns before failed with
            self._task = asyncio.create_task(self._run_turns())

    def _end_turn_early(self, outcome: TurnOutcome) -> None:
        if self.is_running:
            self._ended_by = outcome
            if self._engine is not None:
                self._engine.cancel()

    async def _run_turns(self, *, started: bool = False) -> None:
        while True:
            if not started:
                self.turns += 1
                self.log.inbox.clear()  # this turn answers them
                self.log.append(events.TurnStarted(number=self.turns))
            started = False
            self.log.catch_up()
            outcome = await self._run_turn()
            if outcome.request is not None:
                self._begin_wait(outcome.request)
                return
            late, self._ended_by = self._ended_by, None
            if late is not None and late.reason == "by_person":
                outcome = late  # the stop came while the interrupted turn ended
            self.outcome, self.status = outcome, f"{outcome.status}/{outcome.reason}"
            interrupted = outcome.reason == "interrupted"
            self.log.append(
                *self.log.take_added(),
                *([events.ConversationInterrupted(by="Ada")] if interrupted else []),
                events.TurnFinished(
                    number=self.turns, status=outcome.status, reason=outcome.reason
                ),
            )
            if not self.log.inbox or self.status == "paused/by_person":
                break
        if self.checks_after_each_turn:
            self.check()

    async def _run_turn(self) -> TurnOutcome:
        llm = TextCallingLLM(self.llm) if self.profile.text_tool_calls else self.llm
        services = TurnServices(
            self.log,
            self.sandbox,
            llm,
            read_limits=self._read_limits,
            compaction_llm=self.compaction_llm,
            ends_run=self._ends_run,
            open_model=self.open_model,
        )
        self.turn = turn = ActiveTurn(
            self.profile, self._toolbox, seen_files=self._seen_files, key_owner=self.key_owner
        )
        if self._ended_by is None:
            self._engine = asyncio.create_task(run_until_done(turn, services))
            await asyncio.wait({self._engine})
            if self._ended_by is None:
                return self._engine.result()
        outcome, self._ended_by = self._ended_by, None
        await self.log.commit()
        verb = "Stopped" if outcome.reason == "by_person" else "Interrupted"
        open_calls = self.log.history.open_calls()
        tools = ToolServices(self.log, self.sandbox)
        await call_cancellation.cancel(open_calls, turn, tools, why=f"{verb} by Ada.")
        return outcome

    async def _read_limits(self) -> TurnLimits:
        """The limits now; ``new_limits`` has those that come into force after so many requests."""
        changed = self.new_limits.get(len(self.llm.requests))
        if changed is not None:
            self.profile = replace(self.profile, limits=changed)
        return self.profile.limits

    # --- what the log says ------------------------------------------------------------------------

    @property
    def event_types(self) -> list[str]:
        return [event.type.removeprefix("agent.") for event in self.log.events]

    def find(self, kind: type[Event]) -> list[Any]:
        """All events of this type."""
        return [event for event in self.log.events if isinstance(event, kind)]

    @property
    def answers(self) -> list[str]:
        return [event.text for event in self.find(events.MessageSpoken)]

    @property
    def results(self) -> list[events.ToolReturned]:
        return self.find(events.ToolReturned)

    @property
    def outputs(self) -> list[str]:
        return [event.output for event in self.results]

    @property
    def commands(self) -> list[str]:
        """The command lines that ran, in their order."""
        return [command.shell or "" for command in self.sandbox.current.ran]

    def last_request(self) -> str:
        """The text of the newest message of the last request."""
        return str(self.llm.requests[-1].messages[-1])

    def check(self) -> None:
        """The log of an idle conversation keeps the laws."""
        history = History()
        for seq, event in enumerate(self.log.events, 1):
            history = advance(history, event, seq)
            assert violations(history.messages()) == []
        called = [event.call_id for event in self.find(events.ToolCalled)]
        outcomes = [
            event.call_id
            for event in self.log.events
            if isinstance(event, events.ToolReturned | events.ToolOutcomeUnknown)
        ]
        assert sorted(called) == sorted(outcomes), "each call has exactly one outcome"
        for request in self.llm.requests:
            assert violations(request.messages) == []
        if self.status == "finished/answered":
            assert self.unread_messages() == [], "the model has read each message once"

    def unread_messages(self) -> list[str]:
        """The messages that the newest request does not contain exactly once."""
        texts = [
            block.text
            for message in self.llm.requests[-1].messages
            for block in message.blocks
            if isinstance(block, Text)
        ]
        replaced = max((event.upto_seq for event in self.find(events.ContextCompacted)), default=0)
        sent = [
            event.text
            for seq, event in enumerate(self.log.events, 1)
            if seq > replaced and isinstance(event, events.MessageReceived)
        ]
        return [text for text in sent if texts.count(text) != sent.count(text)]


def tool_steps(count: int, command: str = "echo {i}") -> Iterable[Scripted]:
    """So many replies with one command each; ``{i}`` is the number of the step, from 0."""
    return [calls(bash=command.replace("{i}", str(number))) for number in range(count)]


def any_command(output: str = "ok") -> dict[str, str]:
    """Answers for the commands of ``tool_steps``."""
    return {f"echo {number}": output for number in range(100)}
