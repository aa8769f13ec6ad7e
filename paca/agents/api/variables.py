"""API views of the environment variables of agents and of projects. No answer has a secret value."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.agents import selectors
from paca.agents.models import Agent, EnvVar
from paca.agents.models.env_var import MAX_NAME_CHARACTERS
from paca.agents.services import variables
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.serializers import InputSerializer
from paca.common.errors import NotFound
from paca.projects.api.base import ProjectView
from paca.projects.models import Project


class VariableSerializer(serializers.ModelSerializer[EnvVar]):
    """A variable. The value of a secret is ``***``."""

    value = serializers.SerializerMethodField()

    class Meta:
        model = EnvVar
        fields = ("id", "name", "value", "secret", "created_at", "updated_at")

    def get_value(self, row: EnvVar) -> str:  # type: ignore[override] # the name of the field
        """The value, ``***`` for a secret."""
        return variables.shown_value(row)


class VariableInput(InputSerializer):
    """A variable to store."""

    name = serializers.CharField(max_length=MAX_NAME_CHARACTERS)
    value = serializers.CharField(
        max_length=variables.MAX_VALUE_CHARACTERS,
        trim_whitespace=False,
        help_text="``***`` keeps the value of a stored one.",
    )
    secret = serializers.BooleanField(
        default=True,
        help_text="Its value is never shown again, and masked in the output of commands.",
    )


class VariablesView(ProjectView):
    """What the views of agents and of projects have in common."""

    def list_page(self, owner: Agent | Project) -> Response:
        """The page of the owner's variables that the request asks for."""
        rows = EnvVar.objects.of(owner)
        return NewestFirstPagination.page_response(rows, self, VariableSerializer)

    def store(self, request: Request, owner: Agent | Project) -> Response:
        """Store the variable that the request has."""
        given: dict[str, Any] = VariableInput.read(request)
        row = variables.store(owner, by=self.member, **given)
        return Response(VariableSerializer(row).data, status=201)

    def remove(self, owner: Agent | Project, variable_id: UUID) -> Response:
        """Delete a variable of the owner. Raises ``NotFound``."""
        with transaction.atomic():
            row = EnvVar.objects.of(owner).select_for_update().filter(pk=variable_id).first()
            if row is None:
                raise NotFound
            variables.delete(row, owner, by=self.member)
        return self.no_content()


class ProjectVariables(VariablesView):
    """The variables that all agents of the project get."""

    required_permission = {"GET": "agents:read", "POST": "projects:write"}

    @extend_schema(responses=VariableSerializer(many=True), tags=["environment"])
    def get(self, request: Request) -> Response:
        """List the variables of the project."""
        return self.list_page(self.project)

    @extend_schema(request=VariableInput, responses={201: VariableSerializer}, tags=["environment"])
    def post(self, request: Request) -> Response:
        """Store a variable of the project. One of the same name is replaced."""
        return self.store(request, self.project)


class ProjectVariable(VariablesView):
    """One variable of the project."""

    required_permission = {"DELETE": "projects:write"}

    @extend_schema(responses={204: None}, tags=["environment"])
    def delete(self, request: Request, project_variable_id: UUID) -> Response:
        """Delete a variable of the project."""
        return self.remove(self.project, project_variable_id)


class AgentVariables(VariablesView):
    """The variables that one agent gets. They win over those of its project."""

    required_permission = {"GET": "agents:read", "POST": "agents:write"}

    @extend_schema(responses=VariableSerializer(many=True), tags=["environment"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """List the variables of an agent, without those of its project."""
        return self.list_page(selectors.get(self.project, agent_id))

    @extend_schema(request=VariableInput, responses={201: VariableSerializer}, tags=["environment"])
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Store a variable of an agent. One of the same name is replaced."""
        return self.store(request, selectors.get(self.project, agent_id))


class AgentVariable(VariablesView):
    """One variable of an agent."""

    required_permission = {"DELETE": "agents:write"}

    @extend_schema(responses={204: None}, tags=["environment"])
    def delete(self, request: Request, agent_id: UUID, agent_variable_id: UUID) -> Response:
        """Delete a variable of an agent."""
        return self.remove(selectors.get(self.project, agent_id), agent_variable_id)
