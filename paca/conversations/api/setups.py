"""The setup of an agent's sandboxes over the API: how its last run went, and a fresh one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import sandbox_setup, selectors
from paca.agents.models import Agent
from paca.conversations import sandbox_setups
from paca.conversations.api.serializers import OffsetDateTimeField
from paca.conversations.models import SandboxSetup, SetupState
from paca.projects.api.base import ProjectView
from paca.sandbox.egress.reasons import Reason, sentence

MAX_BUILDS = 10  # of one setup: one for each image and place


class SetupHostSerializer(serializers.Serializer[dict[str, Any]]):
    """A host that the commands reached, or wanted to."""

    host = serializers.CharField(help_text="Empty: the hosts beyond the first 200 together.")
    port = serializers.IntegerField()
    reason = serializers.CharField(
        help_text="Why the network gate refused it, such as not_listed; empty if it did not."
    )
    explanation = serializers.SerializerMethodField(
        help_text="The reason as a sentence; else empty."
    )
    connections = serializers.IntegerField()
    sent_bytes = serializers.IntegerField()
    received_bytes = serializers.IntegerField()

    def get_explanation(self, host: dict[str, Any]) -> str:
        """The reason as a sentence."""
        reason = host["reason"]
        return sentence(Reason(reason), host["host"], host["port"]) if reason else ""


class SetupBuildSerializer(serializers.ModelSerializer[SandboxSetup]):
    """One run of the commands."""

    started_at = OffsetDateTimeField()
    ended_at = OffsetDateTimeField()
    seconds = serializers.SerializerMethodField()
    network = SetupHostSerializer(many=True)

    class Meta:
        model = SandboxSetup
        fields = (
            "state",
            "backend",
            "started_at",
            "ended_at",
            "last_used_at",
            "seconds",
            "reason",
            "output",
            "network",
        )

    def get_seconds(self, row: SandboxSetup) -> int | None:
        """How long it ran; null while it does."""
        if row.ended_at is None or row.state == SetupState.BUILDING:
            return None
        return round((row.ended_at - row.started_at).total_seconds())


class SetupSerializer(serializers.Serializer[Any]):
    """The commands of the project and the agent together, and their runs."""

    commands = serializers.CharField(help_text="Empty: nothing is set up.")
    builds = SetupBuildSerializer(many=True, help_text="None: the next sandbox runs them.")


def described(agent: Agent) -> dict[str, Any]:
    """The setup of an agent as the API shows it."""
    plan = sandbox_setup.plan_of(agent, agent.project)
    if plan is None:
        return {"commands": "", "builds": []}
    rows = SandboxSetup.objects.filter(project=agent.project_id, key=plan.key, retired_at=None)
    found = {"commands": plan.commands, "builds": rows[:MAX_BUILDS]}
    return dict(SetupSerializer(found).data)


class AgentSetup(ProjectView):
    """The setup of an agent's sandboxes."""

    required_permission = {"GET": "agents:read"}

    @extend_schema(responses=SetupSerializer, tags=["environment"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """Show the setup commands of an agent with those of its project, and how their last runs went."""
        return Response(described(selectors.get(self.project, agent_id)))


class RebuildSetup(ProjectView):
    """Runs the setup of an agent's sandboxes again."""

    required_permission = {"POST": "agents:write"}

    @extend_schema(request=None, responses=SetupSerializer, tags=["environment"])
    @idempotent
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Have the next sandbox run the commands again. Running sandboxes keep what they have."""
        agent = selectors.get(self.project, agent_id)
        if (plan := sandbox_setup.plan_of(agent, agent.project)) is not None:
            sandbox_setups.rebuild(agent, plan.key, by=self.member)
        return Response(described(agent))
