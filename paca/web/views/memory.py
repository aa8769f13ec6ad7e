"""The pages of the memory of a project and of an agent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from paca.agents.models import Agent
from paca.conversations import memory_lists
from paca.conversations.memory_lists import MemoryOwner
from paca.conversations.models import MemoryEntry, MemoryState
from paca.conversations.models.memory import MAX_ENTRY_CHARACTERS
from paca.projects import permissions
from paca.projects.models import Member, MemoryPolicy
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context

POLICIES = (
    (MemoryPolicy.OFF.value, "Off"),
    (MemoryPolicy.ASK.value, "A person decides"),
    (MemoryPolicy.ON.value, "Kept at once"),
)


@project_page("projects:read")
def project_memory(request: HttpRequest, member: Member) -> HttpResponse:
    """What all agents of the project read, with the way to the memory of each agent."""
    owner = MemoryOwner(member.project)
    agents = _agents(member) if permissions.allows(member, "agents:read") else []
    return _page(request, member, owner, section="memory", agents=agents)


@project_page("agents:read")
def agent_memory(request: HttpRequest, member: Member, agent_id: UUID) -> HttpResponse:
    """What one agent has noted for itself. Raises ``Http404`` if the project has no such agent."""
    return _page(request, member, memory_lists.owner(member.project, agent_id), section="agents")


def _page(
    request: HttpRequest, member: Member, owner: MemoryOwner, *, section: str, **more: Any
) -> HttpResponse:
    rows = [_addressed(owner, entry) for entry in memory_lists.entries(owner)]
    # guard: memory-names-conversations-to-their-readers
    if not permissions.allows(member, "conversations:read"):
        for entry in rows:
            entry.origin = None  # type: ignore[attr-defined]
    used = memory_lists.characters(owner)
    noun = "projects" if owner.agent is None else "agents"
    context = page_context(
        member,
        section,
        agent=owner.agent,
        policy=owner.subject.memory,
        policies=POLICIES,
        waiting=[entry for entry in rows if entry.state == MemoryState.WAITING],
        entries=[entry for entry in reversed(rows) if entry.state == MemoryState.ACCEPTED],
        used=used,
        size=settings.MEMORY_CHARACTERS,
        percent=min(100, round(100 * used / settings.MEMORY_CHARACTERS)),
        max_characters=MAX_ENTRY_CHARACTERS,
        may_write_memory=permissions.allows(member, f"{noun}:write"),
        owner_api=_owner_api(owner),
        list_api=reverse(_name(owner, "memory"), args=_arguments(owner)),
        **more,
    )
    return render(request, "web/memory.html", context)


def _agents(member: Member) -> list[Agent]:
    """The agents, each with ``noted`` and ``undecided``: how many entries are accepted, and how many wait."""
    return list(
        Agent.objects.for_project(member.project).annotate(
            noted=Count("memory_entries", filter=Q(memory_entries__state=MemoryState.ACCEPTED)),
            undecided=Count("memory_entries", filter=Q(memory_entries__state=MemoryState.WAITING)),
        )
    )


def _addressed(owner: MemoryOwner, entry: MemoryEntry) -> MemoryEntry:
    """The entry with the addresses that its buttons call, and its conversation unless that is deleted."""
    for name, address in (("api", "memory-entry"), ("decision_api", "memory-decision")):
        arguments = [*_arguments(owner), entry.pk]
        setattr(entry, name, reverse(_name(owner, address), args=arguments))
    origin = entry.conversation
    entry.origin = None if origin is None or origin.deleted_at is not None else origin  # type: ignore[attr-defined]
    return entry


def _name(owner: MemoryOwner, name: str) -> str:
    return f"api:{name}" if owner.agent is None else f"api:agent-{name}"


def _arguments(owner: MemoryOwner) -> list[UUID]:
    return [owner.project.pk] if owner.agent is None else [owner.project.pk, owner.agent.pk]


def _owner_api(owner: MemoryOwner) -> str:
    """The address at which the policy is changed."""
    name = "api:project" if owner.agent is None else "api:agent"
    return reverse(name, args=_arguments(owner))
