"""Builds the objects of the engine from database rows: the agent's profile, its model, the log so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model, QuerySet, UUIDField

from paca.agents import (
    allowed_commands,
    network,
    plugin_reading,
    prompts,
    sandbox_limits,
    sandbox_setup,
)
from paca.agents.models import Agent
from paca.agents.services import variables
from paca.agents.toolbox import installed_tools
from paca.common.network_policy import CLOSED, EgressPolicy, Network
from paca.common.prepared_queries import Parameter, Select
from paca.common.secret_removal import SecretMask
from paca.conversations import budgets, event_log, memory_lists, sandbox_queries
from paca.conversations.models import Conversation, Sandbox, SandboxState, TriggerType, Turn
from paca.conversations.models.statuses import LIVING_SANDBOX_STATES
from paca.conversations.store import Fenced, Lease
from paca.engine.context.memory import MemoryLine, format_memory
from paca.engine.context.prompt import join_parts
from paca.engine.context.skills import SkillSummary
from paca.engine.llm import own_parameters
from paca.engine.request_size import known_window
from paca.engine.turn import AgentProfile
from paca.events import Event
from paca.projects.models import MemoryPolicy, Project
from paca.repositories import routing
from paca.repositories.models import Repository
from paca.sandbox.base import SandboxSpec
from paca.sandbox.environment import CommandVariables
from paca.worker import model_profiles, turn_models
from paca.worker.agent_model import AgentModels
from paca.worker.event_masking import NO_SECRETS, mask_of_agent
from paca.worker.run_log import CachedHistory
from paca.worker.turn_limits import AGENT_COLUMNS, PROJECT_COLUMNS, limits_of

M = TypeVar("M", bound=Model)

NO_CONVERSATION = UUID(int=0)
# Their answers become comments and results. That of ``description_write`` is a text, which may say anything.
UNATTENDED = (
    TriggerType.TASK_ASSIGNED,
    TriggerType.COMMENT_MENTION,
    TriggerType.EXECUTE,
    TriggerType.CHECK_IN,
    TriggerType.HELPER,
    TriggerType.TEAMMATE,
)


@dataclass(frozen=True, slots=True)
class ConversationRows:
    """A conversation with its agent, project and sandbox. Only the columns that a run needs are loaded."""

    conversation: Conversation
    agent: Agent
    project: Project
    sandbox: Sandbox | None


@dataclass(frozen=True, slots=True)
class AssembledTurn:
    """Everything that a turn needs from the database, read once when it starts."""

    profile: AgentProfile
    models: AgentModels
    cached: CachedHistory
    new_events: list[tuple[int, Event]]
    turn_started_at: datetime
    sandbox: SandboxSpec
    sandbox_boot_id: str
    repositories: Sequence[Repository] = ()  # those that the agent may use
    skills: tuple[SkillSummary, ...] = ()
    tools: Sequence[str] | None = None  # those that are switched on; None for all
    is_traced: bool = False
    mask: SecretMask = NO_SECRETS  # of all that the turn stores, shows and asks a model
    read_only: bool = False  # whether tools that change something are off
    remembers: bool = True  # whether the agent may note something for later conversations
    remembers_at_end: bool = False  # whether its model is asked after a turn what is worth keeping
    most_helpers: int = 0  # of one call; 0: it has no tool for them
    team_role: str = ""  # lead or teammate, if it has tools for a team
    lead_id: UUID | None = None  # its own id if it has a team, which uses its budgets too
    family: budgets.Family | None = None  # of a helper: what it shares with the others of its call


def _columns(model: type[Model], *wanted: str) -> tuple[str, ...]:
    """The wanted columns in the order of the model's fields, as ``from_db`` expects them."""
    names = [field.attname for field in model._meta.concrete_fields]
    assert set(wanted) <= set(names)
    return tuple(name for name in names if name in wanted)


_CONVERSATION_COLUMNS = _columns(
    Conversation,
    *(
        "id",
        "agent_id",
        "project_id",
        "trigger_type",
        "next_seq",
        "turn_number",
        "tracing",
        "teams",
    ),
    *("read_only", "parent_id", "parent_call", "allowance", "helper_kind"),
)
NETWORK_COLUMNS = ("network", "network_presets", "network_hosts", "package_cache")
ENVIRONMENT_COLUMNS = ("sandbox_image", "setup_commands", "repository_setup", "allowed_commands")
_PROJECT_COLUMNS = _columns(
    Project, "id", "name", "memory", *NETWORK_COLUMNS, *ENVIRONMENT_COLUMNS, *PROJECT_COLUMNS
)
_SANDBOX_COLUMNS = _columns(
    Sandbox, "id", "conversation_id", "backend", "boot_id", "state", "volume"
)
_AGENT_COLUMNS = _columns(
    Agent,
    *("id", "name", "handle", "description", "git_name", "git_email"),
    *("model", "base_url", "encrypted_key", "key_last4", "parameters", "text_tool_calls"),
    *("fallback_model", "fallback_base_url", "fallback_encrypted_key", "fallback_key_last4"),
    *("fallback_parameters", "fallback_text_tool_calls", "efforts"),
    "tools",
    *("system_prompt", "task_assigned_prompt", "comment_mention_prompt"),
    *("chat_message_prompt", "description_write_prompt", "execute_prompt"),
    *("sandbox_memory_mib", "sandbox_cpus", "sandbox_disk_mib", "sandbox_files"),
    *("sandbox_life", "sandbox_network", "sandbox_image", "setup_commands"),
    *AGENT_COLUMNS,
    "approval",
    "allowed_commands",
    "tracing",
    "limit_helpers",
    "teams",
    *("verification", "verification_prompt", "hint"),
    *("memory", "remember_at_end"),
)


def _joined_rows() -> QuerySet[Conversation, tuple[Any, ...]]:
    return Conversation.objects.filter(pk=Parameter("id", UUIDField())).values_list(
        *_CONVERSATION_COLUMNS,
        *(f"agent__{name}" for name in _AGENT_COLUMNS),
        *(f"project__{name}" for name in _PROJECT_COLUMNS),
        *(f"sandbox__{name}" for name in _SANDBOX_COLUMNS),
    )


_ROWS = Select(_joined_rows)


def read_rows(conversation_id: UUID) -> ConversationRows | None:
    """Read the rows in one query; None if the conversation no longer exists."""
    for row in _ROWS.rows(id=conversation_id):
        values = iter(row)
        conversation = _instance(Conversation, _CONVERSATION_COLUMNS, values)
        agent = _instance(Agent, _AGENT_COLUMNS, values)
        project = _instance(Project, _PROJECT_COLUMNS, values)
        sandbox = _instance(Sandbox, _SANDBOX_COLUMNS, values)
        return ConversationRows(conversation, agent, project, None if row[-1] is None else sandbox)
    return None


def _instance(model: type[M], names: tuple[str, ...], values: Iterator[Any]) -> M:
    return model.from_db(DEFAULT_DB_ALIAS, names, tuple(islice(values, len(names))))


def turn_start(conversation: Conversation) -> datetime:
    """When the running turn of the conversation started."""
    turn = Turn.objects.get(conversation=conversation, number=conversation.turn_number)
    return turn.started_at


def assemble_next_turn(lease: Lease, cached: CachedHistory) -> AssembledTurn:
    """Read the rows again for the next turn of a run: the agent may have been changed.

    Raises ``Fenced`` if the conversation no longer exists.
    """
    rows = read_rows(lease.conversation_id)
    if rows is None:
        raise Fenced
    return assemble_turn(rows, turn_start(rows.conversation), cached)


def assemble_turn(
    rows: ConversationRows, turn_started_at: datetime, cached: CachedHistory
) -> AssembledTurn:
    """Read the events after ``cached``, and build the turn from them and the rows."""
    installed_tools()  # the first import takes seconds: here in a thread, not in the event loop
    conversation, agent, sandbox = rows.conversation, rows.agent, rows.sandbox
    if cached.history.seq > conversation.last_seq:
        cached = CachedHistory()  # the database is an older copy of what this worker has seen
    if conversation.parent_id is not None:
        sandbox = sandbox_queries.of_conversation(conversation.parent_id).first()
    given = variables.for_commands(agent.pk, rows.project.pk)
    repositories = routing.of_agent(agent.pk, conversation.project_id)
    spec = _with_repositories(
        _sandbox_spec(conversation, agent, rows.project, sandbox),
        repositories,
        network.policy_of(agent, rows.project),
    )
    spec = replace(spec, variables=CommandVariables(given.values, given.secrets))
    plugins = plugin_reading.contents_of(agent.pk)
    plugin_reading.apply_settings(agent, plugins)
    skills = prompts.read_skills(agent.pk, plugins)
    memory = memory_lists.for_prompt(agent, rows.project, until=turn_started_at)
    profile = _profile(rows, spec, skills, memory, given.describe())
    mask = mask_of_agent(agent.pk)
    return AssembledTurn(
        profile=profile,
        models=turn_models.models_of(conversation, agent, profile, mask=mask),
        mask=mask,
        cached=cached,
        new_events=event_log.load_after(conversation.pk, cached.history.seq),
        turn_started_at=turn_started_at,
        sandbox=spec,
        sandbox_boot_id=sandbox.boot_id
        if sandbox and sandbox.state in LIVING_SANDBOX_STATES
        else "",
        repositories=repositories,
        skills=skills,
        tools=agent.tools,
        read_only=conversation.reads_only,
        remembers=agent.memory != MemoryPolicy.OFF,
        remembers_at_end=not conversation.parent_id and _remembers_at_end(conversation, agent),
        most_helpers=0 if conversation.parent_id else agent.limit_helpers,
        team_role=_team_role(conversation, agent),
        lead_id=_lead_id(conversation, agent),
        family=budgets.family_of(conversation),
        is_traced=settings.TRACING
        and (agent.tracing if conversation.tracing is None else conversation.tracing),
    )


def _remembers_at_end(conversation: Conversation, agent: Agent) -> bool:
    # guard: memory-of-read-only-runs-stays
    if conversation.reads_only:
        return False
    return agent.remember_at_end and agent.memory != MemoryPolicy.OFF and not agent.is_demo


def _team_role(conversation: Conversation, agent: Agent) -> str:
    if conversation.trigger_type == TriggerType.TEAMMATE:
        return "teammate"
    wanted = agent.teams if conversation.teams is None else conversation.teams
    # guard: teammate-leads-no-team
    return "lead" if wanted and conversation.parent_id is None else ""


def _lead_id(conversation: Conversation, agent: Agent) -> UUID | None:
    """Its id, if it leads a team or did so before that was switched off; None for every other conversation."""
    leads = agent.teams or conversation.teams is not None
    return conversation.pk if leads and conversation.parent_id is None else None


def _profile(
    rows: ConversationRows,
    spec: SandboxSpec,
    skills: Sequence[SkillSummary],
    memory: Sequence[MemoryLine],
    variables_text: str,
) -> AgentProfile:
    agent = rows.agent
    fields = _model_fields(rows)
    window = known_window(fields["model"], agent.base_url, fields["context_window"])
    commands = allowed_commands.lists_of(agent, rows.project)
    return AgentProfile(
        name=agent.name,
        **fields,
        demo=agent.is_demo,
        unattended=rows.conversation.trigger_type in UNATTENDED,
        text_tool_calls=agent.text_tool_calls,
        system=join_parts(
            prompts.assemble(
                agent,
                project=rows.project.name,
                trigger_type=rows.conversation.trigger_type,
                skills=skills,
                persona=prompts.read_persona(agent.persona),
                memory=format_memory(memory, window=window),
                network=network.describe(spec.egress or CLOSED),
                variables=variables_text,
                commands=commands,
            )
        ),
        limits=limits_of(
            agent,
            rows.project,
            budgets.family_of(rows.conversation),
            _lead_id(rows.conversation, agent),
        ),
        approval=agent.approval,
        allowed_commands=commands,
        verification=agent.verification,
        verification_prompt=agent.verification_prompt,
        hint=agent.hint,
        compact_at=settings.CONTEXT_COMPACT_AT,
        compaction_model=model_profiles.compaction_model(agent, agent.model),
        title_model="" if rows.conversation.parent_id else model_profiles.title_model(agent),
        fallback_model=agent.fallback_model,
        retries=settings.LLM_MAX_RETRIES,
        command_timeout_seconds=settings.COMMAND_TIMEOUT_SECONDS,
        background_timeout_seconds=settings.BACKGROUND_TIMEOUT_SECONDS,
        sandbox_memory_mib=spec.limits.memory_mib,
        sandbox_workspace_mib=spec.limits.workspace_mib,
        repository_setup=rows.project.repository_setup,
    )


def _model_fields(rows: ConversationRows) -> dict[str, Any]:
    """The fields of the profile that follow from the model: the agent's own, or the one for its helpers."""
    agent = rows.agent
    if rows.conversation.parent_id is not None and (model := model_profiles.helper_model(agent)):
        kept = own_parameters.without_window(agent.parameters)
        return model_profiles.model_fields(model, agent.base_url, kept)
    return model_profiles.model_fields(agent.model, agent.base_url, agent.parameters)


def sandbox_spec(rows: ConversationRows) -> SandboxSpec:
    """The sandbox that the agent of a conversation has, for whoever uses it outside of a turn."""
    return _sandbox_spec(rows.conversation, rows.agent, rows.project, rows.sandbox)


def default_sandbox_spec() -> SandboxSpec:
    """The sandbox of an agent with default settings, for no conversation yet."""
    return SandboxSpec(NO_CONVERSATION, sandbox_limits.default_limits())


def _sandbox_spec(
    conversation: Conversation, agent: Agent, project: Project, row: Sandbox | None
) -> SandboxSpec:
    policy = network.policy_of(agent, project)
    return SandboxSpec(
        conversation.parent_id or conversation.pk,
        sandbox_limits.limits_of(agent),
        row.backend if row else "",
        agent.git_name,
        agent.git_email,
        persistent=agent.sandbox_life == Agent.SandboxLife.PERSISTENT,
        reset_files=row is not None and row.state == SandboxState.FILES_TO_DELETE,
        volume=row.volume if row else "",
        session=conversation.pk.hex if conversation.parent_id else "",
        egress=None if policy.network is Network.NONE else policy,
        image=agent.sandbox_image or project.sandbox_image,
        cache_of=project.pk if project.package_cache else None,
        setup_plan=sandbox_setup.plan_of(agent, project),
    )


def _with_repositories(
    spec: SandboxSpec, repositories: Sequence[Repository], policy: EgressPolicy
) -> SandboxSpec:
    """The sandbox with the way to repositories. It has a gate for them also without a network."""
    if not repositories:
        return spec
    return replace(spec, repositories=routing.addresses(repositories), egress=policy)
