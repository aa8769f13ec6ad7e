"""API views of the models that can be chosen and of the tools of agents."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.engine.llm import registry as llm_registry
from paca.engine.tools import registry as tool_registry


class LlmModelSerializer(serializers.Serializer[Any]):
    """A model that can be chosen. Other models of its provider work too."""

    model = serializers.CharField(source="name")
    label = serializers.CharField()  # type: ignore[assignment] # a field's name, not its label
    needs_key = serializers.BooleanField()


class ToolSerializer(serializers.Serializer[Any]):
    """A tool that every agent has."""

    name = serializers.CharField()
    description = serializers.CharField()
    arguments = serializers.DictField(help_text="A JSON schema.")
    effect = serializers.CharField()
    timeout_seconds = serializers.FloatField()


class LlmModelList(ApiView):
    """Lists models."""

    required_permission = "agents:read"

    @extend_schema(responses=LlmModelSerializer(many=True), tags=["agents"])
    def get(self, request: Request) -> Response:
        """List the models that can be chosen."""
        return _single_page(LlmModelSerializer(llm_registry.known_models(), many=True).data)


class ToolList(ApiView):
    """Lists tools."""

    required_permission = "agents:read"

    @extend_schema(responses=ToolSerializer(many=True), tags=["agents"])
    def get(self, request: Request) -> Response:
        """List the tools that agents have."""
        tools = tool_registry.Toolbox(tool_registry.workspace_tools()).catalogue()
        return _single_page(ToolSerializer(tools, many=True).data)


def _single_page(results: Any) -> Response:
    """A list as the only page of a paginated answer."""
    return Response({"results": results, "next": None, "previous": None})
