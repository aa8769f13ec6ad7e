"""The pages of a project: overview, agents, conversations."""

import json
import re
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from paca.agents import selectors as agents
from paca.agents.models import Agent
from paca.conversations import agent_statistics, forked_files, helper_lists, memory_lists, usage
from paca.conversations import selectors as conversations
from paca.conversations.api.serializers import conversation_object
from paca.conversations.models.conversation import held_work
from paca.engine.llm.demo import scripted_model
from paca.projects import permissions
from paca.projects.models import Member, Project, Workspace
from paca.web import agent_filters, labels, selectors
from paca.web.page_urls import (
    PLACEHOLDER,
    next_url,
    page_urls,
    search_context,
    settings_url,
    start_url,
)
from paca.web.views.decorators import project_page

PAGE_SIZE = 30
RECENT_COUNT = 5
STATISTICS_DAYS = ("7", "14", "90")


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the person's only project, or show their projects."""
    found = list(Project.objects.for_person(request.user)[:2])  # type: ignore[arg-type]
    return redirect("overview", project=found[0].id) if len(found) == 1 else projects(request)


@require_safe
@login_required
def projects(request: HttpRequest) -> HttpResponse:
    """The person's projects, and a form for a new one in a workspace of theirs."""
    person: Any = request.user
    context = {
        "projects": Project.objects.for_person(person).select_related("workspace"),
        "workspaces": list(Workspace.objects.for_person(person)),
        "next_url": reverse("overview", args=[PLACEHOLDER]).replace(str(PLACEHOLDER), "ID"),
    }
    return render(request, "web/projects.html", context)


def page_context(member: Member, section: str, **more: Any) -> dict[str, Any]:
    """The context of shell.html, the frame around every page of a project."""
    reads_conversations = permissions.allows(member, "conversations:read")
    return {
        "member": member,
        "project": member.project,
        "other_projects": selectors.other_projects(member),
        "section": section,
        "active_conversations": selectors.active_conversations(member.project)
        if reads_conversations
        else [],
        "conversations_api": reverse("api:conversations", args=[member.project_id]),
        "next_url": next_url(member.project_id),
        **search_context(member.project_id),
        "unread_count": selectors.unread_count(member),
        "memory_waiting": memory_lists.undecided(
            member.project,
            of_project=permissions.allows(member, "projects:write"),
            of_agents=permissions.allows(member, "agents:write"),
        ),
        "may_write": permissions.allows(member, "conversations:write"),
        "may_hire": permissions.allows(member, "agents:write"),
        **more,
    }


@project_page("conversations:read")
def overview(request: HttpRequest, member: Member) -> HttpResponse:
    """The composer for a new chat, recent conversations, the team and the checklist."""
    rows = selectors.agents(member.project)
    available = [row for row in rows if row.agent.status != "inactive"]
    wanted = [row for row in available if str(row.agent.id) == request.GET.get("agent")]
    chosen = (wanted or available)[0].agent if available else None
    context = page_context(
        member,
        "overview",
        rows=rows,
        available=available,
        chosen=chosen,
        prompts=scripted_model.PROMPTS,
        start_url=start_url(chosen) if chosen else "",
        people=selectors.people(member.project),
        recent=conversations.find(member.project, archived=False)[:RECENT_COUNT],
        steps=_checklist(request, member, rows),
    )
    return render(request, "web/overview.html", context)


def _checklist(
    request: HttpRequest, member: Member, rows: list[selectors.AgentRow]
) -> list[selectors.ChecklistStep]:
    if request.COOKIES.get("checklist") == "hidden":
        return []
    user = request.user
    links = {"password": reverse("account_set_password")}
    if permissions.allows(member, "tasks:write"):
        links["board"] = reverse("board", args=[member.project_id])
    if permissions.allows(member, "agents:write"):
        links["add_agent"] = reverse("agent_new", args=[member.project_id])
        links["configure"] = settings_url(member, rows[0].agent) if rows else links["add_agent"]
    steps = selectors.getting_started(user, rows, links)  # type: ignore[arg-type]
    return [] if all(step.done for step in steps) else steps


@project_page("agents:read")
def agent_list(request: HttpRequest, member: Member) -> HttpResponse:
    """The agents that match the filters of the address, each with its state and its current conversation."""
    desk = agent_filters.read(member.project, request.GET)
    rows = selectors.agent_rows(member.project, desk.agents)
    context = page_context(
        member,
        "agents",
        desk=desk,
        rows=[(row, settings_url(member, row.agent)) for row in rows],
    )
    return render(request, "web/agents.html", context)


@project_page("agents:read")
def agent(request: HttpRequest, member: Member, agent_id: UUID) -> HttpResponse:
    """One agent: a composer for a new chat, and its conversations.

    Raises ``Http404`` if the project has no such agent.
    """
    found = agents.get(member.project, agent_id)
    context = page_context(
        member,
        "agents",
        agent=found,
        settings_url=settings_url(member, found),
        prompts=scripted_model.PROMPTS if found.is_demo else (),
        start_url=start_url(found),
        recent=conversations.find(member.project, agent=str(found.id), archived=False)[:PAGE_SIZE],
        held=conversations.find(member.project, agent=str(found.id)).filter(held_work())[
            :PAGE_SIZE
        ],
        **_statistics(request, member, found),
    )
    return render(request, "web/agent.html", context)


def _statistics(request: HttpRequest, member: Member, agent: Agent) -> dict[str, Any]:
    """The statistics of the agent over the days in the address, and the links to other periods."""
    if not permissions.allows(member, "usage:read"):
        return {}
    wanted = request.GET.get("days", "")
    days = int(wanted) if wanted in STATISTICS_DAYS else 14
    today = usage.today()
    period = usage.Period.of(today - timedelta(days=days - 1), today)
    found = agent_statistics.measure(agent, period)
    return {
        "figures": found,
        "ended": found.succeeded + found.failed,
        "success_percent": None if found.success_rate is None else round(100 * found.success_rate),
        "median": labels.duration(found.median_seconds),
        "p95": labels.duration(found.p95_seconds),
        "days": days,
        "periods": [(int(each), int(each) == days) for each in STATISTICS_DAYS],
    }


@project_page("conversations:read")
def conversation_list(request: HttpRequest, member: Member) -> HttpResponse:
    """The project's conversations or its archive, newest first, searched by title and messages."""
    archived = "archived" in request.GET
    search = request.GET.get("q", "").strip()[:200]
    number = request.GET.get("page", "")
    page = int(number) if re.fullmatch(r"[1-9][0-9]{0,4}", number) else 1
    first = (page - 1) * PAGE_SIZE
    rows = conversations.find(member.project, search=search, archived=archived)
    found = list(rows[first : first + PAGE_SIZE + 1])
    context = page_context(
        member,
        "conversations",
        found=found[:PAGE_SIZE],
        search=search,
        archived=archived,
        newer=page - 1,
        older=page + 1 if len(found) > PAGE_SIZE else 0,
    )
    return render(request, "web/conversations.html", context)


@project_page("conversations:read")
def conversation(request: HttpRequest, member: Member, conversation_id: UUID) -> HttpResponse:
    """One conversation. The server renders the bar; the element <paca-conversation> renders the rest.

    Raises ``Http404`` if the project has no such conversation.
    """
    found = conversations.get(member.project, conversation_id)
    # `?write`: the person has just started the conversation, and may be writing on.
    focus = "write" in request.GET
    context = page_context(member, "conversations", conversation=found, focus=focus)
    context["page"] = {
        "project": member.project.name,
        "conversation": conversation_object(found),
        "deletedOrigins": forked_files.deleted_origins(found),
        "turn": conversations.running_turn(found),
        "hasTeam": helper_lists.has_team(found),
        "agent": {
            "id": str(found.agent_id),
            "name": found.agent.name,
            "kind": "agent",
            "retired": found.agent.deleted_at is not None,
            "model": found.agent.model,
            "demo": found.agent.is_demo,
            "efforts": sorted(found.agent.efforts),
        },
        "me": _person(member),
        "members": [_person(each) for each in selectors.people(member.project)],
        "mayWrite": context["may_write"],
        "mayReadTraces": permissions.allows(member, "traces:read"),
        "mayApprove": permissions.allows(member, permissions.APPROVE),
        "urls": page_urls(member, found),
    }
    context["page_json"] = json.dumps(context["page"])
    return render(request, "web/conversation.html", context)


def _person(member: Member) -> dict[str, str]:
    return {"id": str(member.id), "name": member.name, "kind": "human"}
