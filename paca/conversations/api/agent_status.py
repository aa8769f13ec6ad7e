"""API views of an agent's status: what a change touches, the change itself, and a planned one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import selectors as agents
from paca.agents.models import Agent, AgentStatus
from paca.common.api.serializers import InputSerializer
from paca.conversations import agent_impact
from paca.conversations.models import AgentStatusChange, StatusMode
from paca.conversations.services import agent_status
from paca.projects.api.base import ProjectView


class ImpactSerializer(serializers.Serializer[Any]):
    """The number of each thing that the agent works on, or that waits for it."""

    running = serializers.IntegerField()
    waiting = serializers.IntegerField(help_text="Conversations that wait for a person.")
    queued = serializers.IntegerField()
    paused = serializers.IntegerField()
    open_requests = serializers.IntegerField(help_text="Approvals, questions and plans.")
    assigned_tasks = serializers.IntegerField(help_text="Open tasks that are assigned to it.")
    blocked_tasks = serializers.IntegerField(
        help_text="Open tasks of others that wait for one of its tasks."
    )
    check_ins = serializers.IntegerField(help_text="Check-ins that are switched on.")


class PlannedChangeSerializer(serializers.ModelSerializer[AgentStatusChange]):
    """A change that is planned for a time."""

    at = serializers.DateTimeField(source="due_at")
    by = serializers.CharField(source="made_by_name")

    class Meta:
        model = AgentStatusChange
        fields = ("id", "status", "mode", "at", "time_zone", "by", "created_at")


class StatusWithImpactSerializer(serializers.Serializer[Any]):
    """The status of an agent with what a change would touch now."""

    status = serializers.ChoiceField(choices=AgentStatus.choices)
    impact = ImpactSerializer()
    planned = PlannedChangeSerializer(allow_null=True)


class AgentStatusInput(InputSerializer):
    """The new status, how and when."""

    status = serializers.ChoiceField(choices=AgentStatus.choices)
    mode = serializers.ChoiceField(
        choices=StatusMode.choices,
        default=StatusMode.GRACEFUL,
        help_text="graceful: running turns finish, nothing new begins. immediate: they are paused at their next step,"
        " or stopped together with what is queued if the agent becomes inactive.",
    )
    at = serializers.CharField(
        required=False,
        max_length=40,
        help_text="When, in ISO form; without an offset it is meant in the time zone. Not given: now.",
    )
    time_zone = serializers.CharField(
        required=False, max_length=64, help_text="Not given: the project's, else the server's."
    )
    confirm = serializers.BooleanField(
        default=False, help_text="Needed if the change stops an agent that has work."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "time_zone" in attrs and "at" not in attrs:
            raise serializers.ValidationError({"time_zone": ["Only a change at a time has one."]})
        return attrs


class AgentStatusView(ProjectView):
    """Shows and changes the status of an agent."""

    required_permission = {"GET": "agents:read", "POST": "agents:write"}

    @extend_schema(responses=StatusWithImpactSerializer, tags=["agents"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """Show the status, what a change of it would touch now, and the change that is planned."""
        return Response(described(agents.get(self.project, agent_id)))

    @extend_schema(request=AgentStatusInput, responses=StatusWithImpactSerializer, tags=["agents"])
    @idempotent
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Change the status now, or plan the change. 409 `confirmation_needed` counts what it would touch."""
        given = AgentStatusInput.read(request)
        confirmed = given.pop("confirm")
        agent = agents.get(self.project, agent_id)
        if "at" in given:
            agent_status.plan(agent, by=self.member, confirmed=confirmed, **given)
        else:
            agent_status.change(agent, by=self.member, confirmed=confirmed, **given)
        return Response(described(agent))


class PlannedStatusView(ProjectView):
    """Cancels the planned change."""

    required_permission = "agents:write"

    @extend_schema(responses={204: None}, tags=["agents"])
    def delete(self, request: Request, agent_id: UUID) -> Response:
        """Cancel the change of the status that is planned."""
        agent_status.cancel(agents.get(self.project, agent_id), by=self.member)
        return self.no_content()


def described(agent: Agent) -> dict[str, Any]:
    """The status of an agent as the API shows it."""
    shown = {
        "status": agent.status,
        "impact": agent_impact.measure(agent),
        "planned": AgentStatusChange.objects.planned().filter(agent=agent).first(),
    }
    return dict(StatusWithImpactSerializer(shown).data)
