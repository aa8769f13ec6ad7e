"""From rows to what the engine works with: the agent's profile, its model, and the log so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model, QuerySet, UUIDField

from paca.agents import encryption
from paca.agents.models import Agent
from paca.common.prepared_queries import Parameter, Select
from paca.conversations import selectors
from paca.conversations.models import Conversation, Sandbox, SandboxState, Turn
from paca.conversations.selectors import RecordedEvent
from paca.conversations.store import Fenced, Lease
from paca.engine.context.prompt import AgentIdentity, assemble_system_prompt
from paca.engine.limits import TurnLimits
from paca.engine.run import AgentProfile
from paca.projects.models import Project
from paca.sandbox.base import SandboxLimits, SandboxSpec
from paca.worker.history_cache import Fold

M = TypeVar("M", bound=Model)

DEFAULT_MAX_TOKENS = 8192
NOBODYS = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Rows:
    """A conversation and the rows beside it, in those columns that a run wants."""

    conversation: Conversation
    agent: Agent
    project: Project
    sandbox: Sandbox | None


@dataclass(frozen=True, slots=True)
class Assembled:
    """All that a run needs from the database, read once when it begins."""

    profile: AgentProfile
    encrypted_key: str
    known: Fold
    recorded: list[RecordedEvent]
    turn_began: datetime
    sandbox: SandboxSpec
    sandbox_boot_id: str

    @property
    def api_key(self) -> str:
        """In the clear only while it is handed on. Raises ``SecretUnreadable``."""
        return encryption.decrypt(self.encrypted_key) if self.encrypted_key else ""


def _columns(model: type[Model], *wanted: str) -> tuple[str, ...]:
    """In the order of the model, which is the one that ``from_db`` goes by."""
    names = [field.attname for field in model._meta.concrete_fields]
    assert set(wanted) <= set(names)
    return tuple(name for name in names if name in wanted)


_OF_CONVERSATION = _columns(Conversation, "id", "agent_id", "project_id", "next_seq", "turn_number")
_OF_PROJECT = _columns(Project, "id", "name")
_OF_SANDBOX = _columns(Sandbox, "id", "conversation_id", "backend", "boot_id", "state", "volume")
_OF_AGENT = _columns(
    Agent,
    *("id", "name", "handle", "description", "git_name", "git_email"),
    *("model", "base_url", "encrypted_key", "key_last4", "parameters", "text_tool_calls"),
    *("system_prompt", "chat_message_prompt", "sandbox_memory_mib", "sandbox_cpus"),
    *("sandbox_life",),
    *("limit_steps", "limit_tokens", "limit_cost_usd", "limit_seconds"),
)


def _with_rows_beside() -> QuerySet[Conversation, tuple[Any, ...]]:
    return Conversation.objects.filter(pk=Parameter("id", UUIDField())).values_list(
        *_OF_CONVERSATION,
        *(f"agent__{name}" for name in _OF_AGENT),
        *(f"project__{name}" for name in _OF_PROJECT),
        *(f"sandbox__{name}" for name in _OF_SANDBOX),
    )


_ROWS = Select(_with_rows_beside)


def read(conversation_id: UUID) -> Rows | None:
    """In one question; None if the conversation is gone."""
    for row in _ROWS.rows(id=conversation_id):
        values = iter(row)
        conversation = _made(Conversation, _OF_CONVERSATION, values)
        agent = _made(Agent, _OF_AGENT, values)
        project = _made(Project, _OF_PROJECT, values)
        sandbox = _made(Sandbox, _OF_SANDBOX, values)
        return Rows(conversation, agent, project, None if row[-1] is None else sandbox)
    return None


def _made(model: type[M], names: tuple[str, ...], values: Iterator[Any]) -> M:
    return model.from_db(DEFAULT_DB_ALIAS, names, tuple(islice(values, len(names))))


def began(conversation: Conversation) -> datetime:
    """When its present turn began."""
    turn = Turn.objects.get(conversation=conversation, number=conversation.turn_number)
    return turn.started_at


def assemble_next(lease: Lease, known: Fold) -> Assembled:
    """What the next turn of a run wants, read anew: its agent may have been changed."""
    rows = read(lease.conversation_id)
    if rows is None:
        raise Fenced
    return assemble_run(rows, began(rows.conversation), known)


def assemble_run(rows: Rows, turn_began: datetime, known: Fold) -> Assembled:
    """Read the log above ``known``, and put it together with the rows."""
    conversation, agent, sandbox = rows.conversation, rows.agent, rows.sandbox
    if known.history.seq > conversation.last_seq:
        known = Fold()  # the database is an older copy of what this worker has seen
    spec = _sandbox(conversation, agent, sandbox)
    return Assembled(
        profile=_profile(rows, spec),
        encrypted_key=agent.encrypted_key,
        known=known,
        recorded=selectors.events_after(conversation.pk, known.history.seq),
        turn_began=turn_began,
        sandbox=spec,
        sandbox_boot_id=sandbox.boot_id if sandbox and sandbox.state in SandboxState.LIVING else "",
    )


def _profile(rows: Rows, spec: SandboxSpec) -> AgentProfile:
    agent = rows.agent
    identity = AgentIdentity(agent.name, agent.handle, rows.project.name, agent.description)
    parameters = dict(agent.parameters)
    return AgentProfile(
        name=agent.name,
        key_last4=agent.key_last4,
        model=agent.model,
        base_url=agent.base_url,
        demo=agent.is_demo,
        text_tool_calls=agent.text_tool_calls,
        system=assemble_system_prompt(
            identity, system=agent.system_prompt, trigger=agent.chat_message_prompt
        ),
        limits=_limits(agent),
        max_tokens=parameters.pop("max_tokens", DEFAULT_MAX_TOKENS),
        parameters=parameters,
        retries=settings.LLM_MAX_RETRIES,
        command_timeout_seconds=settings.COMMAND_TIMEOUT_SECONDS,
        sandbox_memory_mib=spec.limits.memory_mib,
        sandbox_workspace_mib=spec.limits.workspace_mib,
    )


def _limits(agent: Agent) -> TurnLimits:
    return TurnLimits(
        steps=agent.limit_steps or settings.AGENT_MAX_STEPS,
        tokens=agent.limit_tokens,
        cost_usd=None if agent.limit_cost_usd is None else float(agent.limit_cost_usd),
        seconds=agent.limit_seconds,
    )


def usual_sandbox() -> SandboxSpec:
    """That of an agent for which nothing is set; of no conversation yet."""
    limits = SandboxLimits(settings.SANDBOX_MEMORY_MIB, float(settings.SANDBOX_CPUS))
    return SandboxSpec(NOBODYS, limits)


def _sandbox(conversation: Conversation, agent: Agent, known: Sandbox | None) -> SandboxSpec:
    limits = SandboxLimits(
        memory_mib=agent.sandbox_memory_mib or settings.SANDBOX_MEMORY_MIB,
        cpus=float(agent.sandbox_cpus or settings.SANDBOX_CPUS),
    )
    return SandboxSpec(
        conversation.pk,
        limits,
        known.backend if known else "",
        agent.git_name,
        agent.git_email,
        persistent=agent.sandbox_life == Agent.SandboxLife.PERSISTENT,
        reset_files=known is not None and known.state == SandboxState.FREEING,
        volume=known.volume if known else "",
    )
