"""Usage and cost over the API, as JSON and as CSV."""

import io
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.common.api.downloads import download
from paca.common.api.serializers import QuerySerializer
from paca.conversations import usage
from paca.conversations.api.log import FirstRendererNegotiation
from paca.conversations.usage_csv import to_csv
from paca.projects import selectors
from paca.projects.api.base import ProjectView

CSV = {(200, "text/csv"): OpenApiTypes.STR}


class UsageQuery(QuerySerializer):
    """The period, and what the rows stand for. ``from`` is a word of Python, so it is added below."""

    to = serializers.DateField(
        required=False, help_text="The last day, in UTC; today if it is left out."
    )
    group = serializers.ChoiceField(
        choices=("day", "agent", "model", "project", "purpose", "key"), default="day"
    )

    def get_fields(self) -> dict[str, Any]:
        first = serializers.DateField(
            required=False,
            help_text="The first day, in UTC; 13 days before the last if it is left out.",
        )
        return {"from": first, **super().get_fields()}


class ProjectsUsageQuery(UsageQuery):
    """The same for all projects of a person."""

    group = serializers.ChoiceField(
        choices=("day", "agent", "model", "project", "purpose", "key"), default="project"
    )


class FiguresSerializer(serializers.Serializer[Any]):
    """Sums over model calls. ``cost_usd`` is null if the cost of a call is unknown; ``priced_cost_usd``
    has the dollars of all others."""

    calls = serializers.IntegerField()
    input = serializers.IntegerField()
    output = serializers.IntegerField()
    cache_read = serializers.IntegerField()
    cache_write = serializers.IntegerField()
    cost_usd = serializers.FloatField(allow_null=True)
    priced_cost_usd = serializers.FloatField()
    unpriced_calls = serializers.IntegerField()


class UsageRowSerializer(FiguresSerializer):
    """The figures of one day, agent, model, project or purpose."""

    key = serializers.CharField(help_text="A day, an id, a model or a purpose.")
    name = serializers.CharField(help_text="What people read for the key.")


class UsageReportSerializer(serializers.Serializer[Any]):
    """A usage report."""

    results = UsageRowSerializer(many=True)
    total = FiguresSerializer()


def report_object(report: usage.Report) -> dict[str, Any]:
    """The report as the API shows it."""
    rows = [
        {"key": row.key, "name": row.name, **FiguresSerializer(row.figures).data}
        for row in report.rows
    ]
    return {"results": rows, "total": FiguresSerializer(report.total).data}


def _report(projects: Collection[UUID], query: dict[str, Any]) -> usage.Report:
    period = usage.Period.of(query.get("from"), query.get("to"))
    return usage.report(projects, period, query["group"])


def _as_file(report: usage.Report, group: str) -> HttpResponseBase:
    body = to_csv(report)
    name = f"usage-by-{group}.csv"
    content_type = "text/csv; charset=utf-8; header=present"
    return download(io.BytesIO(body), name=name, content_type=content_type, size_bytes=len(body))


class ProjectUsage(ProjectView):
    """The usage of one project."""

    required_permission = "usage:read"

    @extend_schema(parameters=[UsageQuery], responses=UsageReportSerializer, tags=["usage"])
    def get(self, request: Request) -> Response:
        """Show calls, tokens and cost of the project by day, agent, model or purpose."""
        query = UsageQuery.read_query(request)
        return Response(report_object(_report([self.project.pk], query)))


class ProjectUsageFile(ProjectView):
    """The usage of one project as a file."""

    required_permission = "usage:read"
    content_negotiation_class = FirstRendererNegotiation

    @extend_schema(parameters=[UsageQuery], responses=CSV, tags=["usage"])
    def get(self, request: Request) -> HttpResponseBase:
        """Download the same as CSV. An unknown cost is empty."""
        query = UsageQuery.read_query(request)
        return _as_file(_report([self.project.pk], query), query["group"])


class ProjectsUsage(ApiView):
    """The usage of the signed-in person's projects."""

    required_permission = "usage:read"

    @extend_schema(parameters=[ProjectsUsageQuery], responses=UsageReportSerializer, tags=["usage"])
    def get(self, request: Request) -> Response:
        """Show the usage of all your projects in which your role has ``usage:read``."""
        query = ProjectsUsageQuery.read_query(request)
        projects = selectors.projects_allowing(self.person, "usage:read")
        return Response(report_object(_report(projects, query)))


class ProjectsUsageFile(ApiView):
    """The usage of the signed-in person's projects as a file."""

    required_permission = "usage:read"
    content_negotiation_class = FirstRendererNegotiation

    @extend_schema(parameters=[ProjectsUsageQuery], responses=CSV, tags=["usage"])
    def get(self, request: Request) -> HttpResponseBase:
        """Download the same as CSV. An unknown cost is empty."""
        query = ProjectsUsageQuery.read_query(request)
        projects = selectors.projects_allowing(self.person, "usage:read")
        return _as_file(_report(projects, query), query["group"])
