"""The trace of a conversation over the API: its calls in time, requests and replies, and all of it as a file."""

from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.conversations import selectors
from paca.conversations.api.inputs import TraceExportQuery, TraceQuery
from paca.conversations.api.log import FirstRendererNegotiation, download_file
from paca.conversations.api.serializers import conversation_object
from paca.conversations.traces import export, timeline
from paca.projects.api.base import ProjectView


class TimelineSerializer(serializers.Serializer[Any]):
    """Calls of models and tools in the order in which they began, and what is kept of their contents."""

    tracing = serializers.BooleanField(help_text="Whether the next turn is traced.")
    allowed = serializers.BooleanField(help_text="Whether this installation keeps traces.")
    keep_days = serializers.IntegerField(
        allow_null=True, help_text="Days for which a call's trace is kept; null: no limit."
    )
    stored_bytes = serializers.IntegerField()
    dropped_calls = serializers.IntegerField(
        help_text="Calls whose trace was removed because of age or space."
    )
    results = serializers.ListField(child=serializers.DictField())
    before = serializers.DateTimeField(
        allow_null=True, help_text="Ask with it for the calls before; null if there are none."
    )


class Timeline(ProjectView):
    """The calls of a conversation in time."""

    required_permission = "traces:read"

    @extend_schema(parameters=[TraceQuery], responses=TimelineSerializer, tags=["traces"])
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """Show the newest model calls and tool calls, or those before a time. It needs no tracing; a model
        call that was traced has ``trace``."""
        query = TraceQuery.read_query(request)
        conversation = selectors.get(self.project, conversation_id)
        page = timeline.page(conversation, **query)
        before = page.before.isoformat() if page.before else None
        return Response({**timeline.summary(conversation), "results": page.calls, "before": before})


class TracedModelCall(ProjectView):
    """A traced model call."""

    required_permission = "traces:read"

    @extend_schema(responses=OpenApiTypes.OBJECT, tags=["traces"])
    def get(self, request: Request, conversation_id: UUID, call_id: str) -> Response:
        """Show what was sent and what came back, without secrets: the request as it was, byte for byte,
        and the reply as Paca put it together from the stream."""
        conversation = selectors.get(self.project, conversation_id)
        return Response(export.call_object(conversation, call_id))


class TraceExport(ProjectView):
    """The whole trace as a file."""

    required_permission = "traces:read"
    content_negotiation_class = FirstRendererNegotiation

    @extend_schema(
        parameters=[TraceExportQuery],
        responses={(200, "application/json"): OpenApiTypes.OBJECT},
        tags=["traces"],
    )
    def get(self, request: Request, conversation_id: UUID) -> HttpResponseBase:
        """Download it: ``json`` has all requests and replies that are kept, ``otlp`` the spans of all ended
        turns for a collector of OpenTelemetry. The audit trail says who has."""
        query = TraceExportQuery.read_query(request)
        conversation = selectors.get(self.project, conversation_id)
        if query["format"] == "otlp":
            return download_file(export.to_otlp(conversation, by=self.member))
        return download_file(
            export.to_json(conversation, conversation_object(conversation), by=self.member)
        )
