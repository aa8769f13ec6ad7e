"""The agents of a project."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import connection_test, selectors
from paca.agents import services as agents
from paca.agents.api.serializers import (
    AgentInput,
    AgentSerializer,
    ConnectionTestSerializer,
    to_columns,
    to_paths,
)
from paca.agents.models import Agent
from paca.common.api.pagination import Pages
from paca.common.api.preconditions import require_unchanged
from paca.common.api.throttling import RequestsPerMinute
from paca.common.errors import Invalid
from paca.projects import selectors as projects
from paca.projects.api.base import ProjectView

RIGHTS = {
    "GET": "agents:read",
    "POST": "agents:write",
    "PATCH": "agents:write",
    "DELETE": "agents:write",
}


class Agents(ProjectView):
    """All of them."""

    required_permission = RIGHTS

    @extend_schema(responses=AgentSerializer(many=True), tags=["agents"])
    def get(self, request: Request) -> Response:
        """List the agents."""
        found = Agent.objects.of_project(self.project).select_related("member")
        return Pages.answer(found, self, AgentSerializer)

    @extend_schema(request=AgentInput, responses={201: AgentSerializer}, tags=["agents"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Make an agent, which is a member of the project from then on."""
        given = to_columns(AgentInput.read(request))
        role = projects.role(self.project, given.pop("role_id"))
        self.require_may_grant(role)
        with _as_the_api_names_it():
            agent = agents.create(self.project, role=role, by=self.member, **given)
        return Response(AgentSerializer(agent).data, status=201)


class OneAgent(ProjectView):
    """One of them."""

    required_permission = RIGHTS

    @extend_schema(responses=AgentSerializer, tags=["agents"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """Show an agent."""
        return Response(AgentSerializer(selectors.get(self.project, agent_id)).data)

    @extend_schema(request=AgentInput, responses=AgentSerializer, tags=["agents"])
    def patch(self, request: Request, agent_id: UUID) -> Response:
        """Change what is given; the rest stays."""
        given: dict[str, Any] = to_columns(AgentInput.read(request, partial=True))
        with transaction.atomic(), _as_the_api_names_it():
            agent = selectors.get(self.project, agent_id, for_update=True)
            require_unchanged(request, agent)
            if (role_id := given.pop("role_id", None)) is not None:
                given["role"] = projects.role(self.project, role_id)
                self.require_may_grant(given["role"])
                self.require_may_grant(agent.member.role)
            agents.configure(agent, by=self.member, **given)
        return Response(AgentSerializer(agent).data)

    @extend_schema(responses={204: None}, tags=["agents"])
    def delete(self, request: Request, agent_id: UUID) -> Response:
        """Retire it: it leaves the project, what it did stays readable."""
        with transaction.atomic():
            agent = selectors.get(self.project, agent_id, for_update=True)
            agents.retire(agent, by=self.member)
        return self.no_content()


class TestsPerMinute(RequestsPerMinute):
    """Tests ask somebody else's server, so they are counted by themselves."""

    scope = "test_connection"


class TestConnection(ProjectView):
    """Whether an agent's model answers."""

    required_permission = "agents:write"
    throttle_classes = (RequestsPerMinute, TestsPerMinute)

    @extend_schema(request=None, responses=ConnectionTestSerializer, tags=["agents"])
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Ask the agent's model one word; a failure names its cause."""
        result = connection_test.test(selectors.get(self.project, agent_id))
        return Response(ConnectionTestSerializer(result).data)


@contextmanager
def _as_the_api_names_it() -> Iterator[None]:
    try:
        yield
    except Invalid as invalid:
        raise Invalid(invalid.detail, fields=to_paths(invalid.fields)) from None
