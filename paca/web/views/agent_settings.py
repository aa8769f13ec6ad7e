"""The pages on which members hire agents and change their settings."""

import json
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from paca.accounts.models import AuditEntry
from paca.agents import catalogue, context_preview, persona_catalogue
from paca.agents import selectors as agents
from paca.agents.model_parameters import EFFORT_NAMES, NAMES
from paca.agents.models import Agent, Skill, SkillFile
from paca.agents.network import policy_of
from paca.agents.services import model_keys, variables
from paca.common.network_policy import Network
from paca.conversations import budget_report
from paca.conversations.api import setups
from paca.engine.context import trigger_prompts
from paca.engine.llm import registry as llm_registry
from paca.engine.reminders import DEFAULT_VERIFICATION
from paca.projects import permissions
from paca.projects.models import Member, Role
from paca.web import check_in_rows, mcp_rows, page_urls, plugin_rows, sandbox_images, status_rows
from paca.web.views import memory, repositories
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context

MAX_CHANGES_SHOWN = 50

SECTIONS = (
    ("general", "General", "bot"),
    ("model", "Model", "brain"),
    ("fallback", "Fallback", "rotate-ccw"),
    ("effort", "Effort", "sparkles"),
    ("tools", "Tools", "terminal"),
    ("prompts", "Prompts", "message-square"),
    ("limits", "Limits", "gauge"),
    ("approval", "Approval", "shield"),
    ("sandbox", "Sandbox", "box"),
    ("memory", "Memory", "brain"),
    ("git", "Git", "git-branch"),
    ("status", "Status", "circle-dot"),
    ("personas", "Personas", "users"),
    ("skills", "Skills", "file-text"),
    ("plugins", "Plugins", "box"),
    ("repositories", "Repositories", "git-branch"),
    ("environment", "Environment", "terminal"),
    ("mcp-servers", "MCP servers", "plug"),
    ("check-ins", "Check-ins", "clock"),
    ("changes", "Changes", "history"),
)
APPROVALS = (
    ("auto", "Never else: it runs by itself"),
    ("unsafe", "For unsafe calls"),
    ("all", "For each call, even reads"),
)
VERIFICATIONS = (
    ("off", "Never"),
    ("unattended", "Where nobody watches"),
    ("always", "In every turn"),
)
PROMPTS = (
    ("task_assigned", "When a task is assigned to it"),
    ("comment_mention", "When a comment mentions it"),
    ("chat_message", "In a chat"),
    ("description_write", "When it writes a description"),
    ("execute", "When a program starts it"),
)

NO_LIMIT = "Empty: no limit"
PORTION = "Continue gives it again"
ALL_DAY = "All its conversations, from midnight UTC"


@project_page("agents:write")
def new_agent(request: HttpRequest, member: Member) -> HttpResponse:
    """Hire an agent: a template, a name and a model are enough."""
    context = page_context(
        member,
        "agents",
        models=llm_registry.known_models(),
        roles=_grantable(member),
        templates=catalogue.AGENT_TYPES,
        settings_url=reverse(
            "agent_settings", args=[member.project_id, page_urls.PLACEHOLDER]
        ).replace(str(page_urls.PLACEHOLDER), "ID"),
    )
    return render(request, "web/agent_new.html", context)


@project_page("agents:write")
def agent_settings(request: HttpRequest, member: Member, agent_id: UUID) -> HttpResponse:
    """All settings of an agent, each section with its own form.

    Raises ``Http404`` if the project has no such agent.
    """
    agent = agents.get(member.project, agent_id)
    context = page_context(
        member,
        "agents",
        agent=agent,
        **repositories.of_agent(agent),
        sections=SECTIONS,
        types=catalogue.AGENT_TYPES,
        categories=Agent.Category.choices,
        priorities=[(each.name.lower(), each.label) for each in Agent.Priority],
        tools=context_preview.all_tools(),
        prompts=[_prompt_row(agent, name, label) for name, label in PROMPTS],
        models=llm_registry.known_models(),
        roles=_grantable(member),
        parameter_names=", ".join(NAMES),
        parameters_json=json.dumps(agent.parameters) if agent.parameters else "",
        fallback_json=json.dumps(agent.fallback_parameters) if agent.fallback_parameters else "",
        efforts_json=json.dumps(agent.efforts, indent=2) if agent.efforts else "",
        effort_names=", ".join(EFFORT_NAMES),
        lent_key=_lent_key(agent, member.user_id),
        limits=_limit_rows(agent),
        day=budget_report.of_day(agent),
        approvals=APPROVALS,
        allowed_commands="\n".join(agent.allowed_commands or ()),
        project_commands=member.project.allowed_commands,
        networks=Agent.SandboxNetwork.choices,
        **sandbox_images.context(),
        **_setup(agent),
        variables=variables.listed(agent),
        network=policy_of(agent, member.project),
        verifications=VERIFICATIONS,
        memory_policies=memory.POLICIES,
        default_verification=DEFAULT_VERIFICATION,
        personas=_personas(agent),
        own_personas=list(agent.project.personas.all()),
        predefined_personas=persona_catalogue.PERSONAS,
        skills=_skills(agent),
        skill_templates=catalogue.skill_templates(),
        **check_in_rows.context(agent, may_read_docs=permissions.allows(member, "docs:read")),
        **status_rows.context(agent),
        **plugin_rows.context(agent),
        **mcp_rows.context(agent),
        mcp_redirect=request.build_absolute_uri(reverse("mcp_sign_in")),
        may_run=permissions.allows(member, "conversations:write"),
        preview_api=reverse("api:agent-preview", args=[agent.project_id, agent.pk]),
        changes=_changes(agent),
    )
    return render(request, "web/agent_settings.html", context)


def _setup(agent: Agent) -> dict[str, Any]:
    """What the element <paca-setup> shows and calls, and whether there are commands."""
    setup = setups.described(agent)
    ids = [agent.project_id, agent.pk]
    page = {
        "setup": setup,
        "hasNetwork": policy_of(agent, agent.project).network is not Network.NONE,
        "mostSeconds": settings.SANDBOX_SETUP_SECONDS,
        "urls": {
            "setup": reverse("api:agent-setup", args=ids),
            "rebuild": reverse("api:agent-setup-rebuild", args=ids),
            "socket": f"/ws/projects/{agent.project_id}/",
            "project": reverse("project_settings", args=[agent.project_id]),
            "chat": reverse("agent", args=ids) + "?new",
        },
    }
    return {"setup": setup, "setup_json": json.dumps(page)}


def _lent_key(agent: Agent, user_id: UUID | None) -> str:
    """Whose key is used if the agent has none of its own, in words for this person."""
    if agent.has_key or agent.is_demo:
        return ""
    shared = model_keys.key_of(agent, user_id=None)
    yours = model_keys.key_of(agent, user_id=user_id)
    whose = {"project": "the project's key", "server": "the server's key"}.get(shared.source)
    said = f"In use: {whose}{_ending(shared)}." if whose else "No key is lent to it."
    if yours.source == "user":
        said += f" In turns that you alone begin: your own{_ending(yours)}."
    return said


def _ending(key: model_keys.FoundKey) -> str:
    return f", which ends in {key.last4}" if key.last4 else ""


def _personas(agent: Agent) -> list[tuple[str, list[tuple[str, str]]]]:
    """The personas to choose from, as ``(category, [(id, name)])``: those of the agent's category first."""
    groups: dict[str, list[tuple[str, str]]] = {}
    mine_first = sorted(persona_catalogue.PERSONAS, key=lambda p: p.category != agent.category)
    for each in mine_first:
        groups.setdefault(str(each.category.label), []).append((each.slug, each.name))
    own = [(str(each.pk), each.name) for each in agent.project.personas.all()]
    return [("Of this project", own), *groups.items()] if own else list(groups.items())


def _skills(agent: Agent) -> list[Skill]:
    """The skills of the agent, each with ``file_names``."""
    found = list(agent.skills.prefetch_related(Prefetch("files", SkillFile.objects.defer("data"))))
    for skill in found:
        skill.file_names = [file.path for file in skill.files.all()]  # type: ignore[attr-defined]
    return found


def _prompt_row(agent: Agent, name: str, label: str) -> dict[str, str]:
    return {
        "name": name,
        "label": label,
        "own": agent.prompt_of(name),
        "default": trigger_prompts.prompt_for(name, ""),
    }


def _limit_rows(agent: Agent) -> list[tuple[str, str, str, str, Any]]:
    """Name, label, hint, unit and value of each limit."""
    rows = (
        ("cost_usd", "Money of a conversation", f"{PORTION}. {NO_LIMIT}", "USD"),
        ("tokens", "Tokens of a conversation", f"{PORTION}. {NO_LIMIT}", "tokens"),
        ("turn_cost_usd", "Money of one turn", NO_LIMIT, "USD"),
        ("turn_tokens", "Tokens of one turn", NO_LIMIT, "tokens"),
        ("day_cost_usd", "Money of a day", f"{ALL_DAY}. {NO_LIMIT}", "USD"),
        ("day_tokens", "Tokens of a day", f"{ALL_DAY}. {NO_LIMIT}", "tokens"),
        ("steps", "Steps", "Model calls in one turn. Empty: the server's default", "steps"),
        ("seconds", "Time", f"Length of one turn. {NO_LIMIT}", "s"),
        ("concurrent", "Conversations at once", "More wait, oldest first", "at once"),
        ("helpers", "Helpers", "Of one call. 0: it works alone", "helpers"),
    )
    return [(*row, _shown(getattr(agent, f"limit_{row[0]}"))) for row in rows]


def _shown(value: Any) -> Any:
    return "" if value is None else value


def _grantable(member: Member) -> list[Role]:
    """The roles that the member may give."""
    return [
        role
        for role in member.project.roles.order_by("created_at", "id")
        if permissions.may_grant(lambda name: permissions.allows(member, name), role.permissions)
    ]


def _moves(facts: dict[str, Any]) -> str:
    """What a change of the status says of itself."""
    if "status" not in facts:
        return ""
    former = f"{facts['former']} to " if "former" in facts else ""
    parts = (f"{former}{facts['status']}", facts.get("mode"), facts.get("reason"))
    return ", ".join(filter(None, parts))


def _changes(agent: Agent) -> list[dict[str, Any]]:
    """The newest changes of the agent's settings: who, what and when."""
    entries = AuditEntry.objects.filter(
        object_type="agents.agent", object_id=str(agent.pk)
    ).order_by("-created_at")
    return [
        {
            "by": entry.actor_name,
            "action": entry.action,
            "fields": ", ".join(entry.facts.get("fields", [])) or _moves(entry.facts),
            "at": entry.created_at,
        }
        for entry in entries[:MAX_CHANGES_SHOWN]
    ]
