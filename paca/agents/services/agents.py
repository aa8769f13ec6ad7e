"""Services that make, change and retire an agent together with its membership."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.agents import catalogue, encryption, toolbox
from paca.agents.models import Agent
from paca.agents.models.tags import normalize_tags
from paca.agents.services import checks, mcp_servers, plugins, skills, variable_checks
from paca.common.errors import Conflict, Invalid, NotFound
from paca.projects.models import Project, Role
from paca.projects.services import members
from paca.projects.signals import agent_status_changed

SETTINGS = frozenset(
    {
        "name",
        "handle",
        "description",
        "status",
        "agent_type",
        "category",
        "tags",
        "priority",
        "model",
        "base_url",
        "parameters",
        "text_tool_calls",
        "fallback_model",
        "fallback_base_url",
        "fallback_parameters",
        "fallback_text_tool_calls",
        "efforts",
        "tools",
        "system_prompt",
        "persona",
        "task_assigned_prompt",
        "comment_mention_prompt",
        "chat_message_prompt",
        "description_write_prompt",
        "execute_prompt",
        "limit_steps",
        "limit_tokens",
        "limit_cost_usd",
        "limit_seconds",
        "limit_turn_tokens",
        "limit_turn_cost_usd",
        "limit_day_tokens",
        "limit_day_cost_usd",
        "limit_concurrent",
        "auto_start",
        "limit_helpers",
        "teams",
        "sandbox_memory_mib",
        "sandbox_cpus",
        "sandbox_disk_mib",
        "sandbox_files",
        "sandbox_life",
        "sandbox_network",
        "sandbox_image",
        "setup_commands",
        "approval",
        "allowed_commands",
        "tracing",
        "plan_mode",
        "verification",
        "verification_prompt",
        "hint",
        "memory",
        "remember_at_end",
        "git_name",
        "git_email",
    }
)
# A page shows this in place of a key. If it is sent back, the stored key stays.
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
    by: audit.HasActor | None,
    llm_api_key: str = "",
    fallback_api_key: str = "",
    agent_type: str = "",
    **config: Any,
) -> Agent:
    """Make an agent and its membership. Both exist, or neither.

    ``config`` holds any of ``SETTINGS``. The agent gets description, prompt and skills of its
    ``agent_type``, a slug of ``catalogue.AGENT_TYPES``, where ``config`` has none.

    Raises ``UnknownTemplate``, ``Invalid`` with the errors of each setting or if the role is of another project, and
    ``ConfigurationError`` if the key cannot be encrypted with ENCRYPTION_KEY.
    """
    template = catalogue.agent_type(agent_type) if agent_type else None
    if template is not None:
        of_type = {
            "agent_type": template.slug,
            "description": template.description,
            "system_prompt": template.system_prompt,
        }
        config = {**of_type, **config}
    agent = Agent(project=project)
    _apply(agent, {"name": name, "handle": handle, "model": model, **config})
    keys = llm_api_key.strip(), fallback_api_key.strip()
    _validate(agent, *keys)
    _store_keys(agent, *keys)
    agent.save()
    audit.record("agent.created", agent, by=by, project_id=project.pk, model=agent.model)
    members.add_agent(project, agent=agent, role=role, by=by)
    for slug in template.skills if template else ():
        skills.create_from_template(agent, slug, by=by)
    return agent


@transaction.atomic
def configure(
    agent: Agent,
    *,
    by: audit.HasActor | None,
    llm_api_key: str | None = None,
    fallback_api_key: str | None = None,
    role: Role | None = None,
    **changes: Any,
) -> Agent:
    """Change the given settings. A key of ``***`` or None keeps the stored key, an empty one deletes it.

    The key of the fallback goes with the fallback.

    Raises ``AgentIsRetired``, ``Invalid`` with the errors of each setting or if the role is of another
    project, and ``ConfigurationError`` if the key cannot be encrypted with ENCRYPTION_KEY.
    """
    if agent.deleted_at is not None:
        raise AgentIsRetired
    before = Agent.objects.get(pk=agent.pk)
    _apply(agent, changes)
    keys = _key_to_store(llm_api_key), _key_to_store(fallback_api_key)
    # guard: fallback-key-goes-with-the-fallback
    if not agent.fallback_model:
        agent.fallback_encrypted_key = agent.fallback_key_last4 = ""
    _validate(agent, *keys)
    _store_keys(agent, *keys)
    agent.save()
    _record_changes(before, agent, by=by)
    # guard: every-change-of-a-status-is-told
    if agent.status != before.status:
        _record_status(agent, by=by, former=before.status)
        agent_status_changed.send(sender=Agent, agent=agent, by=by)
    if role is not None and role.pk != agent.member.role_id:
        members.change_role(agent.member, role=role, by=by)
    return agent


@transaction.atomic
def set_status(agent: Agent, status: str, *, by: audit.HasActor | None, **facts: Any) -> None:
    """Give the agent this status. ``facts`` say in the audit trail how, and what it has touched."""
    former, agent.status = agent.status, status
    agent.save(update_fields=["status", "updated_at"])
    _record_status(agent, by=by, former=former, **facts)
    if status != former:
        agent_status_changed.send(sender=Agent, agent=agent, by=by)


@transaction.atomic
def retire(agent: Agent, *, by: audit.HasActor | None) -> None:
    """Remove the agent from the project and delete its keys and MCP servers. Its conversations stay readable.

    Raises ``NotFound`` if it is retired already.
    """
    # guard: retiring-locks-the-agent-before-its-conversations
    Agent.objects.select_for_update(no_key=True).only("pk").get(pk=agent.pk)
    agent.refresh_from_db(fields=["deleted_at"])
    if agent.deleted_at is not None:
        raise NotFound
    members.end_membership(agent.member, by=by)
    agent.deleted_at = timezone.now()
    _store_keys(agent, "", "")
    # guard: mcp-secrets-go-with-their-agent
    mcp_servers.delete_all(agent, by=by)
    plugins.forget(agent)
    columns = ("encrypted_key", "key_last4", "fallback_encrypted_key", "fallback_key_last4")
    agent.save(update_fields=["deleted_at", *columns, "updated_at"])
    audit.record("agent.retired", agent, by=by, project_id=agent.project_id)


def normalize_handle(handle: str) -> str:
    """A handle as people type it, without spaces and ``@`` and in small letters."""
    return handle.strip().removeprefix("@").lower()


def _apply(agent: Agent, changes: dict[str, Any]) -> None:
    # guard: type-chooses-the-category
    if changes.get("agent_type", agent.agent_type) != agent.agent_type:
        changes = {"category": catalogue.category_of(changes["agent_type"]), **changes}
    for field, value in changes.items():
        if field not in SETTINGS:
            raise TypeError(f"an agent has no setting {field!r}")
        setattr(agent, field, value)
    if isinstance(agent.tags, list) and all(isinstance(each, str) for each in agent.tags):
        agent.tags = normalize_tags(agent.tags)
    agent.name = agent.name.strip()
    agent.handle = normalize_handle(agent.handle)
    agent.model = agent.model.strip()
    agent.base_url = agent.base_url.strip()
    agent.fallback_model = agent.fallback_model.strip()
    agent.fallback_base_url = agent.fallback_base_url.strip()
    agent.tools = _chosen_tools(agent.tools)


def _chosen_tools(given: Any) -> Any:
    """The names in the order of the toolbox; None if all are chosen. ``checks`` refuses what is no list of names."""
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        return given
    known = toolbox.tool_names()
    chosen = [name for name in known if name in given]
    unknown = [name for name in given if name not in known]
    return None if len(chosen) == len(known) and not unknown else chosen + unknown


def _key_to_store(given: str | None) -> str | None:
    """The given key; None if the stored key stays."""
    key = given.strip() if given is not None else UNCHANGED_KEY
    return None if key == UNCHANGED_KEY else key


def _store_keys(agent: Agent, key: str | None, fallback_key: str | None) -> None:
    """Store the key of the model and that of the fallback; None keeps the stored one."""
    if key is not None:
        agent.encrypted_key, agent.key_last4 = encryption.sealed(key)
    if fallback_key is not None:
        agent.fallback_encrypted_key, agent.fallback_key_last4 = encryption.sealed(fallback_key)


def _validate(agent: Agent, new_key: str | None, new_fallback_key: str | None) -> None:
    errors = checks.find_errors(agent, new_key=new_key, new_fallback_key=new_fallback_key)
    if errors:
        raise Invalid(fields=errors)
    for field, key in (("llm_api_key", new_key), ("fallback_api_key", new_fallback_key)):
        variable_checks.require_no_variable_with(key, field=field, project=agent.project)


def _record_status(agent: Agent, *, by: audit.HasActor | None, former: str, **facts: Any) -> None:
    facts = {"former": former, "status": agent.status, **facts}
    audit.record("agent.status_changed", agent, by=by, project_id=agent.project_id, **facts)


def _record_changes(before: Agent, agent: Agent, *, by: audit.HasActor | None) -> None:
    """Record which settings were changed; a change of the status has an entry of its own."""
    names = SETTINGS - {"status"}
    changed = sorted(name for name in names if getattr(before, name) != getattr(agent, name))
    if before.encrypted_key != agent.encrypted_key:
        changed.append("llm_api_key")
    if before.fallback_encrypted_key != agent.fallback_encrypted_key:
        changed.append("fallback_api_key")
    if changed:
        audit.record("agent.configured", agent, by=by, project_id=agent.project_id, fields=changed)
