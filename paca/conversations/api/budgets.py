"""The shared budgets of a project over the API."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.conversations import budget_report
from paca.engine.budgets import SHARED
from paca.projects.api.base import ProjectView


class BudgetSerializer(serializers.Serializer[Any]):
    """A budget and what is used of it, with what running calls may take at most."""

    scope = serializers.ChoiceField(choices=[str(scope) for scope in SHARED])
    id = serializers.UUIDField(help_text="Of the agent or the project.")
    name = serializers.CharField()
    tokens = serializers.IntegerField(allow_null=True)
    cost_usd = serializers.FloatField(allow_null=True)
    used_tokens = serializers.IntegerField()
    used_cost_usd = serializers.FloatField()
    unpriced_calls = serializers.IntegerField(
        help_text="Calls without a known price: they count in tokens only."
    )
    resets_at = serializers.DateTimeField(help_text="When the next day or month begins, in UTC.")


class BudgetListSerializer(serializers.Serializer[Any]):
    """The budgets of a project. There are few, so they come on one page."""

    results = BudgetSerializer(many=True)


class ProjectBudgets(ProjectView):
    """The budgets of a project and of its agents."""

    required_permission = "usage:read"

    @extend_schema(responses=BudgetListSerializer, tags=["usage"])
    def get(self, request: Request) -> Response:
        """List the budgets that are set: of the project for the month, of each agent for the day."""
        rows = budget_report.of_project(self.project)
        return Response({"results": BudgetSerializer(rows, many=True).data})
