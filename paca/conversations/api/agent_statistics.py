"""The API view of an agent's statistics."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.agents import selectors as agents
from paca.common.api.serializers import QuerySerializer
from paca.conversations import agent_statistics
from paca.conversations.usage import Period
from paca.projects.api.base import ProjectView


class PeriodQuery(QuerySerializer):
    """The period. ``from`` is a word of Python, so it is added below."""

    to = serializers.DateField(
        required=False, help_text="The last day, in UTC; today if it is left out."
    )

    def get_fields(self) -> dict[str, Any]:
        first = serializers.DateField(
            required=False,
            help_text="The first day, in UTC; 13 days before the last if it is left out.",
        )
        return {"from": first, **super().get_fields()}


class StatisticsSerializer(serializers.Serializer[Any]):
    """Figures of a period. What is not known is null, never 0."""

    first_day = serializers.DateField()
    last_day = serializers.DateField()
    runs = serializers.IntegerField(help_text="Turns that began in the period.")
    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    stopped = serializers.IntegerField(help_text="Stopped or paused, by a person or at a limit.")
    running = serializers.IntegerField()
    success_rate = serializers.FloatField(
        allow_null=True, help_text="Of the turns that succeeded or failed; 0 to 1."
    )
    median_seconds = serializers.FloatField(
        allow_null=True, help_text="Of turns that succeeded, with all waits."
    )
    p95_seconds = serializers.FloatField(allow_null=True)
    cost_usd = serializers.FloatField(allow_null=True)
    priced_cost_usd = serializers.FloatField()
    unpriced_calls = serializers.IntegerField()
    tasks_done = serializers.IntegerField(
        help_text="Tasks assigned to it that are done, and became so in the period."
    )


class AgentStatisticsView(ProjectView):
    """The statistics of an agent."""

    required_permission = "usage:read"

    @extend_schema(parameters=[PeriodQuery], responses=StatisticsSerializer, tags=["agents"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """Show runs, success, latency, cost and tasks done of an agent in a period."""
        query = PeriodQuery.read_query(request)
        self.require_permission("agents:read")
        agent = agents.get(self.project, agent_id)
        period = Period.of(query.get("from"), query.get("to"))
        found = agent_statistics.measure(agent, period)
        shown = {name: getattr(found, name) for name in found.__slots__}
        days = {"first_day": period.first, "last_day": period.last}
        return Response(StatisticsSerializer({**days, **shown}).data)
