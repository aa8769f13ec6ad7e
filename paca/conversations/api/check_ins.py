"""API views of the check-ins of an agent."""

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import selectors as agents
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.conversations import check_in_lists
from paca.conversations.api.check_in_serializers import (
    CheckInChanges,
    CheckInInput,
    CheckInRunSerializer,
    CheckInSerializer,
)
from paca.conversations.api.inputs import EmptyInput
from paca.conversations.models import CheckIn
from paca.conversations.services import check_ins
from paca.projects import doc_lists
from paca.projects.api.base import ProjectView
from paca.projects.selectors import get_task

REQUIRED_PERMISSIONS = {
    "GET": "agents:read",
    "POST": "agents:write",
    "PATCH": "agents:write",
    "DELETE": "agents:write",
}


class CheckInView(ProjectView):
    """The base of views that read or change check-ins."""

    def read_report(self, given: dict[str, Any]) -> dict[str, Any]:
        """The input with ``task`` and ``doc`` in place of ``report_to``. Raises ``NotFound`` if there is none."""
        if "report_to" not in given:
            return given
        wanted = given.pop("report_to") or {}
        task = doc = None
        if wanted.get("task") is not None:
            self.require_permission("tasks:read")
            task = get_task(self.project, wanted["task"])
        if wanted.get("doc") is not None:
            self.require_permission("docs:read")
            doc = doc_lists.get(self.project, wanted["doc"])
        return {**given, "task": task, "doc": doc}

    def described(self, check_in: CheckIn, status: int = 200) -> Response:
        """The answer with a check-in as it is stored now."""
        found = check_in_lists.get(self.project, check_in.agent_id, check_in.pk)
        return Response(CheckInSerializer(found).data, status=status)


class CheckInList(CheckInView):
    """Lists and adds check-ins."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=CheckInSerializer(many=True), tags=["agents"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """List the check-ins of an agent, each with its next slot and what became of the last one."""
        found = check_in_lists.of_agent(agents.get(self.project, agent_id))
        return NewestFirstPagination.page_response(found, self, CheckInSerializer)

    @extend_schema(request=CheckInInput, responses={201: CheckInSerializer}, tags=["agents"])
    @idempotent
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Add a check-in to an agent."""
        given = self.read_report(CheckInInput.read(request))
        agent = agents.get(self.project, agent_id)
        return self.described(check_ins.create(agent, by=self.member, **given), 201)


class CheckInDetail(CheckInView):
    """Shows, changes and deletes a check-in."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=CheckInSerializer, tags=["agents"])
    def get(self, request: Request, agent_id: UUID, check_in_id: UUID) -> Response:
        """Show a check-in."""
        return self.described(check_in_lists.get(self.project, agent_id, check_in_id))

    @extend_schema(request=CheckInChanges, responses=CheckInSerializer, tags=["agents"])
    def patch(self, request: Request, agent_id: UUID, check_in_id: UUID) -> Response:
        """Change the given settings. Other times, or to switch it on, count from now."""
        given = CheckInChanges.read(request, partial=True)
        with transaction.atomic():
            check_in = check_in_lists.get(self.project, agent_id, check_in_id, for_update=True)
            require_unchanged(request, check_in, present=lambda: CheckInSerializer(check_in).data)
            check_ins.change(check_in, by=self.member, **self.read_report(given))
        return self.described(check_in)

    @extend_schema(responses={204: None}, tags=["agents"])
    def delete(self, request: Request, agent_id: UUID, check_in_id: UUID) -> Response:
        """Delete a check-in with its history. Its conversations stay."""
        check_in = check_in_lists.get(self.project, agent_id, check_in_id)
        check_ins.delete(check_in, by=self.member)
        return self.no_content()


class RunCheckIn(CheckInView):
    """Starts a run of a check-in by hand."""

    required_permission = "conversations:write"

    @extend_schema(request=EmptyInput, responses={201: CheckInRunSerializer}, tags=["agents"])
    @idempotent
    def post(self, request: Request, agent_id: UUID, check_in_id: UUID) -> Response:
        """Start it now, at any hour and also if it is switched off. The next slot stays. The answer is 409
        `check_in_busy` while its former run is not finished."""
        EmptyInput.read(request)
        check_in = check_in_lists.get(self.project, agent_id, check_in_id)
        run = check_ins.run_now(check_in, by=self.member)
        return Response(CheckInRunSerializer(run).data, status=201)


class CheckInRuns(CheckInView):
    """The history of a check-in."""

    required_permission = "agents:read"

    @extend_schema(responses=CheckInRunSerializer(many=True), tags=["agents"])
    def get(self, request: Request, agent_id: UUID, check_in_id: UUID) -> Response:
        """List what became of its slots, newest first; the newest 200 are kept."""
        check_in = check_in_lists.get(self.project, agent_id, check_in_id)
        found = check_in.runs.select_related("conversation")
        return NewestFirstPagination.page_response(found, self, CheckInRunSerializer)
