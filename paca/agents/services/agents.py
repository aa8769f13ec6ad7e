"""Making an agent together with its membership, setting it up, and retiring it."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.agents import encryption
from paca.agents.models import Agent
from paca.agents.services import checks
from paca.common.errors import Conflict, Invalid, NotFound
from paca.projects.models import Project, Role
from paca.projects.services import members

SETTINGS = frozenset(
    {
        "name",
        "handle",
        "description",
        "status",
        "model",
        "base_url",
        "parameters",
        "text_tool_calls",
        "system_prompt",
        "chat_message_prompt",
        "limit_steps",
        "limit_tokens",
        "limit_cost_usd",
        "limit_seconds",
        "limit_concurrent",
        "sandbox_memory_mib",
        "sandbox_cpus",
        "sandbox_life",
        "git_name",
        "git_email",
    }
)
# What a page shows in place of a key; sent back, it means that the key stays.
UNCHANGED_KEY = "***"


class AgentIsRetired(Conflict):
    """This agent is retired and takes no new work."""

    code = "agent_is_retired"


@transaction.atomic
def create(
    project: Project,
    *,
    name: str,
    handle: str,
    model: str,
    role: Role,
    by: audit.Acts | None,
    llm_api_key: str = "",
    **config: Any,
) -> Agent:
    """Make the agent and its membership: both, or neither."""
    agent = Agent(project=project)
    _apply(agent, {"name": name, "handle": handle, "model": model, **config})
    key = llm_api_key.strip()
    _check(agent, key)
    _store_key(agent, key)
    agent.save()
    audit.record("agent.created", agent, by=by, project_id=project.pk, model=agent.model)
    members.add_agent(project, agent=agent, role=role, by=by)
    return agent


@transaction.atomic
def configure(
    agent: Agent,
    *,
    by: audit.Acts | None,
    llm_api_key: str | None = None,
    role: Role | None = None,
    **changes: Any,
) -> Agent:
    """Change what is given. A key of ``***`` or None stays; an empty one is forgotten."""
    if agent.deleted_at is not None:
        raise AgentIsRetired
    before = Agent.objects.get(pk=agent.pk)
    _apply(agent, changes)
    key = new_key(llm_api_key)
    _check(agent, key)
    if key is not None:
        _store_key(agent, key)
    agent.save()
    _record_changes(before, agent, by=by)
    if role is not None and role.pk != agent.member.role_id:
        members.give_role(agent.member, role=role, by=by)
    return agent


@transaction.atomic
def retire(agent: Agent, *, by: audit.Acts | None) -> None:
    """Take the agent out of the project and forget its key; what it did stays readable."""
    if agent.deleted_at is not None:
        raise NotFound
    members.end(agent.member, by=by)
    agent.deleted_at = timezone.now()
    agent.encrypted_key = agent.key_last4 = ""
    agent.save(update_fields=["deleted_at", "encrypted_key", "key_last4", "updated_at"])
    audit.record("agent.retired", agent, by=by, project_id=agent.project_id)


def new_key(given: str | None) -> str | None:
    """The key that is to be stored, or None when the stored one stays."""
    key = given.strip() if given is not None else UNCHANGED_KEY
    return None if key == UNCHANGED_KEY else key


def tidy_handle(handle: str) -> str:
    """As people type it, to as it is stored."""
    return handle.strip().removeprefix("@").lower()


def _apply(agent: Agent, changes: dict[str, Any]) -> None:
    for field, value in changes.items():
        if field not in SETTINGS:
            raise TypeError(f"an agent has no setting {field!r}")
        setattr(agent, field, value)
    agent.name = agent.name.strip()
    agent.handle = tidy_handle(agent.handle)
    agent.model = agent.model.strip()
    agent.base_url = agent.base_url.strip()


def _store_key(agent: Agent, key: str) -> None:
    agent.encrypted_key = encryption.encrypt(key) if key else ""
    # Of a short key, four characters would be too much of it.
    agent.key_last4 = key[-4:] if len(key) >= 12 else ""


def _check(agent: Agent, new_key: str | None) -> None:
    if found := checks.complaints(agent, new_key=new_key):
        raise Invalid(fields=found)


def _record_changes(before: Agent, agent: Agent, *, by: audit.Acts | None) -> None:
    changed = sorted(f for f in SETTINGS if getattr(before, f) != getattr(agent, f))
    if before.encrypted_key != agent.encrypted_key:
        changed.append("llm_api_key")
    if changed:
        audit.record("agent.configured", agent, by=by, project_id=agent.project_id, fields=changed)
