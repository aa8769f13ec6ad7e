"""The pages of a project: overview, agents, conversations."""

import json
import re
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from paca.agents import selectors as agents
from paca.conversations import selectors as conversations
from paca.engine.llm.demo import scripted_model
from paca.projects import permissions
from paca.projects.models import Member, Project
from paca.web import selectors
from paca.web.page_urls import configure_url, next_url, page_urls, start_url
from paca.web.views.decorators import project_page

A_PAGE = 30
RECENT = 5


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """The only project, or the list of them."""
    projects = list(Project.objects.for_member(request.user))  # type: ignore[arg-type]
    if len(projects) == 1:
        return redirect("overview", project=projects[0].id)
    return render(request, "web/projects.html", {"projects": projects})


def shell(member: Member, here: str, **more: Any) -> dict[str, Any]:
    """What the frame around every page of a project needs."""
    return {
        "member": member,
        "project": member.project,
        "here": here,
        "working_now": selectors.working_now(member.project),
        "working_api": reverse("api:conversations", args=[member.project_id]),
        "next_url": next_url(member.project_id),
        "may_write": permissions.allows(member, "conversations:write"),
        **more,
    }


@project_page("conversations:read")
def overview(request: HttpRequest, member: Member) -> HttpResponse:
    """The composer is the page; below it ways to begin, beside it who is here."""
    rows = selectors.agents(member.project)
    usable = [row for row in rows if row.agent.status != "inactive"]
    wanted = [row for row in usable if str(row.agent.id) == request.GET.get("agent")]
    chosen = (wanted or usable)[0].agent if usable else None
    context = shell(
        member,
        "overview",
        rows=rows,
        usable=usable,
        chosen=chosen,
        prompts=scripted_model.PROMPTS,
        start_url=start_url(chosen) if chosen else "",
        people=selectors.people(member.project),
        recent=conversations.listed(member.project)[:RECENT],
        steps=_steps(request, member, rows),
    )
    return render(request, "web/overview.html", context)


def _steps(
    request: HttpRequest, member: Member, rows: list[selectors.AgentRow]
) -> list[selectors.Step]:
    if request.COOKIES.get("checklist") == "hidden":
        return []
    user = request.user
    links = {"password": reverse("account_set_password")}
    if user.has_perm("agents.change_agent"):
        links["add_agent"] = reverse("admin:agents_agent_add")
        links["configure"] = configure_url(user, rows[0].agent) if rows else links["add_agent"]
    steps = selectors.getting_started(user, rows, links)  # type: ignore[arg-type]
    return [] if all(step.done for step in steps) else steps


@project_page("agents:read")
def agent_list(request: HttpRequest, member: Member) -> HttpResponse:
    """Every agent: what it does right now, its model, its conversations."""
    may_add = request.user.has_perm("agents.add_agent")
    add_url = reverse("admin:agents_agent_add") if may_add else ""
    rows = [
        (row, configure_url(request.user, row.agent)) for row in selectors.agents(member.project)
    ]
    return render(request, "web/agents.html", shell(member, "agents", rows=rows, add_url=add_url))


@project_page("agents:read")
def agent(request: HttpRequest, member: Member, agent_id: UUID) -> HttpResponse:
    """One agent: write to it, and what it has done."""
    found = agents.get(member.project, agent_id)
    context = shell(
        member,
        "agents",
        agent=found,
        configure_url=configure_url(request.user, found),
        prompts=scripted_model.PROMPTS if found.is_demo else (),
        start_url=start_url(found),
        recent=conversations.listed(member.project, agent=str(found.id))[:A_PAGE],
    )
    return render(request, "web/agent.html", context)


@project_page("conversations:read")
def conversation_list(request: HttpRequest, member: Member) -> HttpResponse:
    """The project's conversations, searched by title and by what was said."""
    search = request.GET.get("q", "").strip()[:200]
    number = request.GET.get("page", "")
    page = int(number) if re.fullmatch(r"[1-9][0-9]{0,4}", number) else 1
    first = (page - 1) * A_PAGE
    found = list(conversations.listed(member.project, search=search)[first : first + A_PAGE + 1])
    context = shell(
        member,
        "conversations",
        found=found[:A_PAGE],
        search=search,
        newer=page - 1,
        older=page + 1 if len(found) > A_PAGE else 0,
    )
    return render(request, "web/conversations.html", context)


@project_page("conversations:read")
def conversation(request: HttpRequest, member: Member, conversation_id: UUID) -> HttpResponse:
    """One conversation: the bar by the server, the flow by its element."""
    found = conversations.get(member.project, conversation_id)
    context = shell(member, "conversations", conversation=found)
    context["page"] = {
        "project": member.project.name,
        "conversation": conversations.describe(found),
        "agent": {
            "id": str(found.agent_id),
            "name": found.agent.name,
            "kind": "agent",
            "retired": found.agent.deleted_at is not None,
        },
        "me": _person(member),
        "members": [_person(each) for each in selectors.people(member.project)],
        "mayWrite": context["may_write"],
        "urls": page_urls(request.user, found),
    }
    context["page_json"] = json.dumps(context["page"])
    return render(request, "web/conversation.html", context)


def _person(member: Member) -> dict[str, str]:
    return {"id": str(member.id), "name": member.name, "kind": "human"}
