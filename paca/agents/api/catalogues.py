"""What an agent can be made of: the models and tools of this server."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.engine.llm import registry as llm_registry
from paca.engine.tools import registry as tool_registry


class LlmModelSerializer(serializers.Serializer[Any]):
    """A model that can be chosen; others of the same provider work too."""

    model = serializers.CharField(source="name")
    label = serializers.CharField()  # type: ignore[assignment] # a field's name, not its label
    needs_key = serializers.BooleanField()


class ToolSerializer(serializers.Serializer[Any]):
    """A tool of every agent."""

    name = serializers.CharField()
    description = serializers.CharField()
    arguments = serializers.DictField(help_text="A JSON schema.")
    effect = serializers.CharField()
    safe = serializers.BooleanField(help_text="Needs no approval.")
    timeout_seconds = serializers.FloatField()


class Models(ApiView):
    """The models."""

    required_permission = "agents:read"

    @extend_schema(responses=LlmModelSerializer(many=True), tags=["agents"])
    def get(self, request: Request) -> Response:
        """List the models that can be chosen."""
        return _whole(LlmModelSerializer(llm_registry.known_models(), many=True).data)


class Tools(ApiView):
    """The tools."""

    required_permission = "agents:read"

    @extend_schema(responses=ToolSerializer(many=True), tags=["agents"])
    def get(self, request: Request) -> Response:
        """List the tools that agents have."""
        tools = tool_registry.Toolbox(tool_registry.workspace_tools()).catalogue()
        return _whole(ToolSerializer(tools, many=True).data)


def _whole(results: Any) -> Response:
    """A list that is never long enough for a second page."""
    return Response({"results": results, "next": None, "previous": None})
