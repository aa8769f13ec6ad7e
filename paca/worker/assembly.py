"""From rows to what the engine works with: the agent's profile, its model, and the log so far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from paca.agents import secrets
from paca.agents.models import Agent
from paca.conversations import selectors
from paca.conversations.models import Conversation, Sandbox, Turn
from paca.conversations.selectors import Recorded
from paca.conversations.store import Lease
from paca.engine.context.prompt import Identity, assemble
from paca.engine.limits import Limits
from paca.engine.run import Profile
from paca.sandbox.base import Limits as SandboxLimits
from paca.sandbox.base import SandboxSpec
from paca.worker.folds import Fold

DEFAULT_MAX_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class Assembled:
    """All that a run needs from the database, read once when it begins."""

    profile: Profile
    encrypted_key: str
    known: Fold
    recorded: list[Recorded]
    turn_began: datetime
    sandbox: SandboxSpec
    sandbox_boot_id: str

    @property
    def api_key(self) -> str:
        """In the clear only while it is handed on. Raises ``SecretUnreadable``."""
        return secrets.decrypt(self.encrypted_key) if self.encrypted_key else ""


def assemble_run(lease: Lease, known: Fold) -> Assembled:
    """Read the conversation, its agent and its log above ``known``."""
    conversation = Conversation.objects.select_related("agent", "project").get(
        pk=lease.conversation_id
    )
    if known.history.seq > conversation.last_seq:
        known = Fold()  # the database is an older copy of what this worker has seen
    agent = conversation.agent
    spec = _sandbox(conversation, agent)
    running = Sandbox.objects.filter(conversation=conversation, state="running").first()
    turn = Turn.objects.get(conversation=conversation, number=conversation.turn_number)
    return Assembled(
        profile=_profile(conversation, agent, spec),
        encrypted_key=agent.encrypted_key,
        known=known,
        recorded=selectors.recorded_after(conversation.pk, known.history.seq),
        turn_began=turn.started_at,
        sandbox=spec,
        sandbox_boot_id=running.boot_id if running else "",
    )


def _profile(conversation: Conversation, agent: Agent, spec: SandboxSpec) -> Profile:
    identity = Identity(agent.name, agent.handle, conversation.project.name, agent.description)
    parameters = dict(agent.parameters)
    return Profile(
        name=agent.name,
        key_last4=agent.key_last4,
        model=agent.model,
        base_url=agent.base_url,
        demo=agent.is_demo,
        system=assemble(identity, system=agent.system_prompt, trigger=agent.chat_message_prompt),
        limits=_limits(agent),
        max_tokens=parameters.pop("max_tokens", DEFAULT_MAX_TOKENS),
        parameters=parameters,
        retries=settings.LLM_MAX_RETRIES,
        command_timeout_seconds=settings.COMMAND_TIMEOUT_SECONDS,
        sandbox_memory_mib=spec.limits.memory_mib,
        sandbox_workspace_mib=spec.limits.workspace_mib,
    )


def _limits(agent: Agent) -> Limits:
    return Limits(
        steps=agent.limit_steps or settings.AGENT_MAX_STEPS,
        tokens=agent.limit_tokens,
        cost_usd=None if agent.limit_cost_usd is None else float(agent.limit_cost_usd),
        seconds=agent.limit_seconds,
    )


def _sandbox(conversation: Conversation, agent: Agent) -> SandboxSpec:
    limits = SandboxLimits(
        memory_mib=agent.sandbox_memory_mib or settings.SANDBOX_MEMORY_MIB,
        cpus=float(agent.sandbox_cpus or settings.SANDBOX_CPUS),
    )
    return SandboxSpec(conversation.pk, limits, agent.git_name, agent.git_email)
