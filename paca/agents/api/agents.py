"""API views of the agents of a project."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import agent_lists, connection_check, selectors
from paca.agents import services as agents
from paca.agents.api.serializers import (
    AgentInput,
    AgentSerializer,
    CheckQuery,
    ConnectionCheckSerializer,
    to_api_fields,
)
from paca.agents.models import Agent, AgentCategory
from paca.common.api import keyset
from paca.common.api.preconditions import require_unchanged
from paca.common.api.throttling import RequestsPerMinute
from paca.common.errors import Invalid
from paca.projects import selectors as projects
from paca.projects.api.base import ProjectView

REQUIRED_PERMISSIONS = {
    "GET": "agents:read",
    "POST": "agents:write",
    "PATCH": "agents:write",
    "DELETE": "agents:write",
}

FILTERS = [
    OpenApiParameter(name, str, many=True, description=meaning)
    for name, meaning in {
        "type": "Types, such as `developer`.",
        "category": f"Any of {', '.join(AgentCategory.values)}.",
        "tag": "Tags, in any letter case.",
        "priority": "`low`, `medium`, `high` or `critical`.",
        "status": "`active`, `paused` or `inactive`.",
        "search": "Words of the name, the handle, the description or the type; or a tag.",
    }.items()
]
ORDERING = OpenApiParameter(
    "ordering",
    str,
    description=f"One of {', '.join(agent_lists.ORDERS)}; with a minus before it, turned round.",
)


class AgentList(ProjectView):
    """Lists and makes agents."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(
        parameters=[*FILTERS, ORDERING], responses=AgentSerializer(many=True), tags=["agents"]
    )
    def get(self, request: Request) -> Response:
        """List the agents. Several values of one filter: one of them has to match."""
        page = keyset.page(
            agent_lists.select(self.project, dict(request.query_params.lists())),
            request,
            agent_lists.ORDERS,
            default=agent_lists.DEFAULT_ORDER,
            load=agent_lists.load,
            then=keyset.BY_ID,
        )
        results = AgentSerializer(page.rows, many=True).data
        return Response({"results": results, "next": page.next, "previous": page.previous})

    @extend_schema(request=AgentInput, responses={201: AgentSerializer}, tags=["agents"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Make an agent. It becomes a member of the project."""
        given = AgentInput.read(request)
        require_may_open_network(self, given)
        role = projects.get_role(self.project, given.pop("role_id"))
        self.require_may_grant(role)
        with _api_field_names():
            agent = agents.create(self.project, role=role, by=self.member, **given)
        return Response(AgentSerializer(agent).data, status=201)


class AgentDetail(ProjectView):
    """Shows, changes and retires an agent."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=AgentSerializer, tags=["agents"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """Show an agent."""
        return Response(AgentSerializer(selectors.get(self.project, agent_id)).data)

    @extend_schema(request=AgentInput, responses=AgentSerializer, tags=["agents"])
    def patch(self, request: Request, agent_id: UUID) -> Response:
        """Change the given fields of an agent."""
        given: dict[str, Any] = AgentInput.read(request, partial=True)
        require_may_open_network(self, given)
        with transaction.atomic(), _api_field_names():
            agent = selectors.get(self.project, agent_id, for_update=True)
            require_unchanged(request, agent, present=lambda: AgentSerializer(agent).data)
            if (role_id := given.pop("role_id", None)) is not None:
                given["role"] = projects.get_role(self.project, role_id)
                self.require_may_grant(given["role"])
                self.require_may_grant(agent.member.role)
            agents.configure(agent, by=self.member, **given)
        return Response(AgentSerializer(agent).data)

    @extend_schema(responses={204: None}, tags=["agents"])
    def delete(self, request: Request, agent_id: UUID) -> Response:
        """Retire an agent. It leaves the project; its conversations stay readable."""
        with transaction.atomic():
            agent = selectors.get(self.project, agent_id, for_update=True)
            agents.retire(agent, by=self.member)
        return self.no_content()


def require_may_open_network(view: ProjectView, given: dict[str, Any]) -> None:
    """Raises ``NotAllowed`` if an agent gets all public hosts from somebody who may not change the project."""
    # guard: egress-open-by-admins-of-the-project
    if given.get("sandbox_network") == Agent.SandboxNetwork.OPEN:
        view.require_permission("projects:write")


class ConnectionChecksPerMinute(RequestsPerMinute):
    """A separate rate limit for connection checks, as each one calls another server."""

    scope = "test_connection"


class CheckConnection(ProjectView):
    """Checks the connection to an agent's model."""

    required_permission = "agents:write"
    throttle_classes = (RequestsPerMinute, ConnectionChecksPerMinute)

    @extend_schema(
        parameters=[CheckQuery], request=None, responses=ConnectionCheckSerializer, tags=["agents"]
    )
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Ask the agent's model for one word. A failed check answers 200 and names the cause."""
        fallback = CheckQuery.read_query(request).get("model") == "fallback"
        agent = selectors.get(self.project, agent_id)
        result = connection_check.run(agent, fallback=fallback, user_id=self.person.pk)
        return Response(ConnectionCheckSerializer(result).data)


@contextmanager
def _api_field_names() -> Iterator[None]:
    """Translates the field names in a service's ``Invalid`` from those of columns to those of the API."""
    try:
        yield
    except Invalid as invalid:
        if not invalid.fields:
            raise
        raise Invalid(invalid.detail, fields=to_api_fields(invalid.fields)) from None
