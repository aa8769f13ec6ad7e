"""API views of the memory of a project and of each of its agents."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.conversations import memory_lists
from paca.conversations.api.memory_serializers import (
    MemoryChanges,
    MemoryDecisionInput,
    MemoryEntrySerializer,
    MemoryInput,
    MemoryQuery,
)
from paca.conversations.memory_lists import MemoryOwner
from paca.conversations.models import MemoryEntry
from paca.conversations.services import memory
from paca.projects.api.base import ProjectView


def _permissions(noun: str) -> dict[str, str]:
    writes = dict.fromkeys(("POST", "PATCH", "DELETE"), f"{noun}:write")
    return {"GET": f"{noun}:read", **writes}


def _id_in(address: dict[str, UUID]) -> UUID:
    """The id of the entry: the addresses of both memories name it differently."""
    return address.get("agent_memory_id") or address["memory_id"]


class MemoryView(ProjectView):
    """The base of the views: the memory of the project, or that of the agent in the address."""

    required_permission: ClassVar[str | dict[str, str]] = _permissions("projects")

    def owner(self, address: dict[str, UUID]) -> MemoryOwner:
        """Whose memory the address names. Raises ``NotFound`` if the project has no such agent."""
        return memory_lists.owner(self.project, address.get("agent_id"))

    def described(self, owner: MemoryOwner, entry: MemoryEntry, status: int = 200) -> Response:
        """The answer with an entry as it is stored now."""
        found = memory_lists.get(owner, entry.pk)
        return Response(MemoryEntrySerializer(found).data, status=status)


class MemoryList(MemoryView):
    """Lists and adds entries."""

    @extend_schema(
        parameters=[MemoryQuery], responses=MemoryEntrySerializer(many=True), tags=["memory"]
    )
    def get(self, request: Request, **address: UUID) -> Response:
        """List the entries of the memory, newest first; those that wait for a person too."""
        query = MemoryQuery.read_query(request)
        found = memory_lists.entries(self.owner(address)).filter(**query)
        return NewestFirstPagination.page_response(found, self, MemoryEntrySerializer)

    @extend_schema(request=MemoryInput, responses={201: MemoryEntrySerializer}, tags=["memory"])
    @idempotent
    def post(self, request: Request, **address: UUID) -> Response:
        """Add an entry. If the memory is full, its oldest entries that are not pinned go. The answer is 409
        `memory_duplicate` if it has the text already, and `memory_full` if pinned entries would take more than half."""
        owner = self.owner(address)
        entry = memory.add(owner, by=self.member, **MemoryInput.read(request))
        return self.described(owner, entry, 201)


class MemoryDetail(MemoryView):
    """Shows, changes and deletes an entry."""

    @extend_schema(responses=MemoryEntrySerializer, tags=["memory"])
    def get(self, request: Request, **address: UUID) -> Response:
        """Show an entry."""
        owner = self.owner(address)
        return self.described(owner, memory_lists.get(owner, _id_in(address)))

    @extend_schema(request=MemoryChanges, responses=MemoryEntrySerializer, tags=["memory"])
    def patch(self, request: Request, **address: UUID) -> Response:
        """Change the text of an entry, or pin it. It takes effect with the next turn of each conversation."""
        given = MemoryChanges.read(request, partial=True)
        owner = self.owner(address)
        with transaction.atomic():
            memory.lock(owner)
            entry = memory_lists.get(owner, _id_in(address))
            require_unchanged(request, entry, present=lambda: MemoryEntrySerializer(entry).data)
            memory.change(owner, entry, by=self.member, **given)
        return self.described(owner, entry)

    @extend_schema(responses={204: None}, tags=["memory"])
    def delete(self, request: Request, **address: UUID) -> Response:
        """Delete an entry."""
        owner = self.owner(address)
        with transaction.atomic():
            memory.lock(owner)
            memory.delete(owner, memory_lists.get(owner, _id_in(address)), by=self.member)
        return self.no_content()


class MemoryDecision(MemoryView):
    """Decides about what an agent has noted."""

    @extend_schema(
        request=MemoryDecisionInput,
        responses={200: MemoryEntrySerializer, 204: None},
        tags=["memory"],
    )
    @idempotent
    def post(self, request: Request, **address: UUID) -> Response:
        """Accept or refuse a waiting entry. With `If-Match` it is decided as it was seen: its agent may have changed it,
        and people what it replaces. The answer is 204 if nothing is left to show: it is refused, or only
        took another entry out. The answer is 409 `memory_decided` if it does not wait."""
        decision = MemoryDecisionInput.read(request)["decision"]
        owner = self.owner(address)
        with transaction.atomic():
            memory.lock(owner)
            entry = memory_lists.get(owner, _id_in(address))
            # guard: memory-is-decided-as-it-was-seen
            require_unchanged(request, entry)
            if decision == "refuse":
                memory.refuse(owner, entry, by=self.member)
                return self.no_content()
            accepted = memory.accept(owner, entry, by=self.member)
        return self.no_content() if accepted is None else self.described(owner, accepted)


class AgentMemoryList(MemoryList):
    """Lists and adds entries of an agent."""

    required_permission = _permissions("agents")


class AgentMemoryDetail(MemoryDetail):
    """Shows, changes and deletes an entry of an agent."""

    required_permission = _permissions("agents")


class AgentMemoryDecision(MemoryDecision):
    """Decides about what an agent has noted for itself."""

    required_permission = _permissions("agents")
