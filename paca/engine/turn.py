"""A turn as the engine sees it: the agent's settings, the services from outside, and the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from paca.common import clock
from paca.common.secret_removal import SecretMask
from paca.engine.approvals.allowed_commands import CommandList
from paca.engine.approvals.person_tools import PersonRequested
from paca.engine.approvals.policy import ApprovalPolicy
from paca.engine.budgets import NOTHING, Amounts, Budget
from paca.engine.call_traces import CallTraces, NoCallTraces
from paca.engine.context.history import History
from paca.engine.helpers.requests import HelpersRequested
from paca.engine.limits import TurnLimits, TurnProgress
from paca.engine.llm.base import LLM
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.model_errors import (
    ContextExceeded,
    KeyRefused,
    ModelError,
    NoCredit,
    RateLimited,
    RequestRefused,
    TimedOut,
    ToolsUnsupported,
)
from paca.engine.model_state import OWN_MODEL, ModelChoice
from paca.engine.reminders import VerificationPolicy
from paca.engine.tools.registry import Toolbox
from paca.engine.workspace import SandboxWorkspace
from paca.events import Event

LendSlot = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """The settings of the agent that the engine needs. The engine never sees database rows.

    ``title_model`` writes the titles of chats; empty if no model does.
    ``unattended``: no person waits for the answer in the conversation, as after an assignment.
    ``key_source`` says whose key is used: agent, user, project or server. ``fallback_model`` goes on where the agent's model fails; empty for none. ``effort_steps`` is the step limit of the
    message's effort, in place of the agent's. ``repository_setup``: setup scripts of repositories run after their clone.
    """

    name: str
    model: str
    system: str
    limits: TurnLimits
    key_last4: str = ""
    key_source: str = ""
    base_url: str = ""
    demo: bool = False
    unattended: bool = False
    text_tool_calls: bool = False
    max_tokens: int = 8192
    parameters: dict[str, Any] = field(default_factory=dict)
    time_limits: TimeLimits = field(default_factory=TimeLimits)
    context_window: int | None = None
    compact_at: float = 0.7
    compaction_model: str = ""
    fallback_model: str = ""
    effort_steps: int | None = None
    title_model: str = ""
    verification: str = VerificationPolicy.OFF
    verification_prompt: str = ""
    hint: str = ""
    retries: int = 3
    command_timeout_seconds: float = 60
    background_timeout_seconds: float = 300
    approval: str = ApprovalPolicy.AUTO
    allowed_commands: tuple[CommandList, ...] = ()
    sandbox_memory_mib: int = 0
    sandbox_workspace_mib: int = 0
    repository_setup: bool = False


@dataclass(frozen=True, slots=True)
class OpenedModel:
    """A model that can be asked: the settings that it needs, and its client.

    ``compaction_llm`` is the client of the profile's ``compaction_model``; None if the model itself writes summaries.
    """

    profile: AgentProfile
    llm: LLM
    compaction_llm: LLM | None = None


# Opens what is chosen.
OpenModel = Callable[[ModelChoice], OpenedModel]


@dataclass(slots=True)
class ActiveTurn:
    """The turn that the engine works on.

    ``started_at`` is the start of the turn on the monotonic clock. ``pause_asked_by`` is the name
    of the person who asked for a pause, else empty. ``next_call`` is what the next model call may take at most, if
    there is a budget that it counts against.
    ``choice`` is the model that answers, with its ``llm`` and ``compaction_llm``; without them those of the services.
    ``key_owner`` is the member whose own key is used, empty if it is another key. ``shown``: people have seen a piece
    of the present model call's answers.
    """

    profile: AgentProfile
    toolbox: Toolbox
    started_at: float = field(default_factory=clock.monotonic)
    seen_files: dict[str, str] = field(default_factory=dict)
    pause_asked_by: str = ""
    next_call: Amounts = NOTHING
    budgets_of_lead: tuple[Budget, ...] = ()
    choice: ModelChoice = OWN_MODEL
    llm: LLM | None = None
    compaction_llm: LLM | None = None
    key_owner: str = ""
    shown: bool = False

    def call_started(
        self, call_id: str, *, model: str = "", attempt: int = 1, purpose: str = "turn"
    ) -> ModelCallStarted:
        """The start of a call of the ``model``, else the agent's, which the budgets that others use too have to allow."""
        return ModelCallStarted(
            call_id=call_id,
            model=model or self.profile.model,
            attempt=attempt,
            purpose=purpose,
            key_source=self.profile.key_source,
            at_most=self.next_call,
            budgets=(*self.budgets_of_lead, *self.profile.limits.shared),
            team_used=self.profile.limits.team_used or NOTHING,
        )

    @property
    def seconds(self) -> float:
        """The seconds since the turn started."""
        return clock.monotonic() - self.started_at


# A key that is lent to the agent, by its source.
KEY_OWNERS = {
    "user": "of the person who began the turn",
    "project": "of the project",
    "server": "of the server",
}
CONTEXT_FULL = (
    "What could be left out was left out, and it still does not fit. Press Continue to shorten it further,"
    " write a shorter message, give the agent a model with a larger window, or start a new conversation."
)


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """The status and reason that end a turn, with the texts that people read about it.

    ``limit`` is the amount of the limit that was reached, which the next turn has again if it is none of the shared
    budgets. ``budget`` is the scope of a budget, ``used`` what was used of it, and ``raised_by`` names people who can
    raise it. With the status ``waiting`` the turn does not end: ``request`` is stored, and the turn goes on when it is
    decided or answered.
    """

    status: str
    reason: str
    detail: str = ""
    next_step: str = ""
    limit: float | None = None
    budget: str = ""
    used: float | None = None
    raised_by: tuple[str, ...] = ()
    request: PersonRequested | HelpersRequested | None = None


def outcome_of_model_error(error: ModelError, profile: AgentProfile) -> TurnOutcome:
    """The outcome after the last ``ModelError``: paused if time may help, else failed."""
    if error.retryable or isinstance(error, TimedOut):
        reason = "rate_limited" if isinstance(error, RateLimited) else "model_unavailable"
        return TurnOutcome("paused", reason, error.detail)
    if isinstance(error, ContextExceeded):
        return TurnOutcome("paused", "context_full", f"{error.detail} {CONTEXT_FULL}")
    if isinstance(error, RequestRefused) and not isinstance(error, ToolsUnsupported):
        return TurnOutcome(
            "failed", "model_refused", error.detail, "Change the request, then try again."
        )
    return TurnOutcome("failed", "configuration", error.detail, _repair(error, profile))


def _repair(error: ModelError, profile: AgentProfile) -> str:
    """The step by which a person repairs the agent's settings."""
    if isinstance(error, ToolsUnsupported):
        return f"Switch Tool calls as text on for {profile.name}, then press Try again."
    if isinstance(error, NoCredit):
        return "Add credit to the account, then press Try again."
    if isinstance(error, KeyRefused):
        which = f", which ends in {profile.key_last4}," if profile.key_last4 else ""
        owner = KEY_OWNERS.get(profile.key_source, f"of {profile.name}")
        return f"Replace the key {owner}{which} then press Try again."
    return f"Correct the model settings of {profile.name}, then press Try again."


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallStarted:
    """The start of an attempt to get a reply. It becomes a row of ``ModelCall`` and no event.

    ``purpose`` is one of ``ModelCallPurpose``. If one of the ``budgets``, which others use too, does not have room for
    what the call takes ``at_most``, the commit raises ``TurnLimitReached``, and the attempt may not start. ``team_used``
    is what the team of a lead had used when its own budgets were summed.
    """

    call_id: str
    model: str
    attempt: int = 1
    purpose: str = "turn"
    key_source: str = ""
    at_most: Amounts = NOTHING
    budgets: tuple[Budget, ...] = ()
    team_used: Amounts = NOTHING


LogEntry = Event | ModelCallStarted


@dataclass(frozen=True, slots=True)
class ToolNews:
    """Events about the tools of others, and the toolbox from here on; None if it stays."""

    events: tuple[Event, ...] = ()
    toolbox: Toolbox | None = None


RefreshTools = Callable[[], Awaitable[ToolNews]]


class EventLog(Protocol):
    """The event log of the conversation: the engine writes to it and reads what it derives from it."""

    @property
    def history(self) -> History:
        """The committed events of all writers, as the model sees them."""
        ...

    @property
    def progress(self) -> TurnProgress:
        """The usage of the running turn, derived from the same events."""
        ...

    @property
    def mask(self) -> SecretMask:
        """What hides the secrets in all that the run stores and shows."""
        ...

    def add(self, *entries: LogEntry) -> None:
        """Keep the entries for the next commit."""
        ...

    async def commit(self, *entries: LogEntry) -> History:
        """Store the added entries and then these in one transaction, and read what others wrote before.

        Gives the history up to these entries. A message in it belongs to the running turn if a model call
        starts with them.
        Raises an error of the implementation if the conversation is no longer this worker's, and
        ``TurnLimitReached`` if a shared budget forbids a model call that starts with them. The other
        entries then wait for the next commit.
        """
        ...

    def show_live(self, event: Event) -> None:
        """Send an event to viewers without storing it."""
        ...


class ConversationSandbox(Protocol):
    """The one sandbox of the conversation. It starts when it is first needed."""

    @property
    def is_attached(self) -> bool:
        """Whether the sandbox runs and this worker is connected to it."""
        ...

    def may_be_running(self, boot_id: str) -> bool:
        """Whether calls in this start of the runner may still run, as far as is known."""
        ...

    async def exit_sentence(self, boot_id: str) -> str:
        """Why the runner with this boot id ended, as a sentence. Stored as an event when first known.

        Empty while the runner lives, or if the cause is not known yet.
        """
        ...

    async def workspace(self) -> SandboxWorkspace:
        """The workspace of the sandbox, which is started or attached to first.

        Raises ``SandboxUnavailable``, ``SandboxGone`` or ``Superseded``.
        """
        ...


class OutputStore(Protocol):
    """Keeps outputs that are too long for the log, for people to download."""

    async def keep(
        self, call_id: str, path: str, open_workspace: Callable[[], Awaitable[SandboxWorkspace]]
    ) -> int:
        """Keep the content of a file of the workspace; gives its size in bytes, or 0 if it is not kept."""
        ...


class NoOutputStore:
    """Keeps no output."""

    async def keep(
        self, call_id: str, path: str, open_workspace: Callable[[], Awaitable[SandboxWorkspace]]
    ) -> int:
        """Do nothing."""
        return 0


@dataclass(frozen=True, slots=True)
class ToolServices:
    """The parts of the outside that a tool call uses."""

    log: EventLog
    sandbox: ConversationSandbox


@dataclass(frozen=True, slots=True)
class TurnServices(ToolServices):
    """Everything outside the engine that a turn uses.

    ``read_limits`` gives the limits of the agent as they are now; without it they do not change.
    ``compaction_llm`` is the client of the profile's ``compaction_model``; None if the agent's own model writes
    the summaries.
    ``open_tasks`` gives the open tasks of the agent as a text for its model, empty if there are none.
    ``lend_slot`` is a context in which the turn only waits, and others use its place on the worker.
    ``traces`` records the model calls, if the conversation is traced.
    ``open_model`` opens the model of another choice than the agent's own; None if there is no other.
    ``refresh_tools`` is asked before each model call for news of the MCP servers; None if the agent has none.
    ``ends_run`` are errors of a tool after which the run cannot go on: it is unknown whether the call took
    effect, so it gets no result.
    """

    llm: LLM
    outputs: OutputStore = NoOutputStore()
    read_limits: Callable[[], Awaitable[TurnLimits]] | None = None
    lend_slot: LendSlot = nullcontext
    compaction_llm: LLM | None = None
    open_tasks: Callable[[], Awaitable[str]] | None = None
    traces: CallTraces = NoCallTraces()
    ends_run: tuple[type[Exception], ...] = ()
    open_model: OpenModel | None = None
    refresh_tools: RefreshTools | None = None

    async def wait(self, seconds: float) -> None:
        """Wait, and let others work meanwhile. It may take longer until the turn can go on."""
        async with self.lend_slot():
            await asyncio.sleep(seconds)
