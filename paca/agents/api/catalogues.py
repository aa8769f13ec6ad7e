"""API views of what can be chosen for agents: models, tools, and templates of skills and agents."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.agents import catalogue
from paca.agents.api.skill_serializers import (
    AgentTypeSerializer,
    PresetSerializer,
    SkillTemplateSerializer,
)
from paca.agents.toolbox import installed_tools, make_toolbox
from paca.engine.llm import registry as llm_registry


class LlmModelSerializer(serializers.Serializer[Any]):
    """A model that can be chosen. Other models of its provider work too."""

    model = serializers.CharField(source="name")
    label = serializers.CharField()  # type: ignore[assignment] # a field's name, not its label
    needs_key = serializers.BooleanField()


class ToolSerializer(serializers.Serializer[Any]):
    """A tool that agents can have."""

    name = serializers.CharField()
    description = serializers.CharField()
    arguments = serializers.DictField(help_text="A JSON schema.")
    effect = serializers.CharField()
    safe = serializers.BooleanField(
        help_text="Whether each call runs without approval where unsafe calls ask. Commands are read one by one."
    )
    timeout_seconds = serializers.FloatField()
    package = serializers.CharField(
        help_text="The installed package of a custom tool, with its version; empty for Paca's own tools."
    )


class ToolProblemSerializer(serializers.Serializer[Any]):
    """A custom tool that cannot be used."""

    package = serializers.CharField()
    entry = serializers.CharField(help_text="The name of its entry point.")
    problem = serializers.CharField()


class ToolPageSerializer(serializers.Serializer[Any]):
    """All tools, and the custom ones that cannot be used."""

    results = ToolSerializer(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    problems = ToolProblemSerializer(many=True)


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

    @extend_schema(responses=ToolPageSerializer, operation_id="tools_list", tags=["agents"])
    def get(self, request: Request) -> Response:
        """List the tools that agents can have. ``problems`` are the custom tools that cannot be used."""
        page = {
            "results": make_toolbox().catalogue(),
            "next": None,
            "previous": None,
            "problems": installed_tools().problems,
        }
        return Response(ToolPageSerializer(page).data)


class SkillTemplateList(ApiView):
    """Lists skill templates."""

    required_permission = "agents:read"

    @extend_schema(responses=SkillTemplateSerializer(many=True), tags=["agents"])
    def get(self, request: Request) -> Response:
        """List the built-in skills, each with its text."""
        templates = catalogue.skill_templates()
        return _single_page(SkillTemplateSerializer(templates, many=True).data)


class PresetList(ApiView):
    """Lists presets."""

    required_permission = "agents:read"

    @extend_schema(responses=PresetSerializer(many=True), tags=["agents"])
    def get(self, request: Request) -> Response:
        """List the system prompts to start from."""
        presets = [each for each in catalogue.AGENT_TYPES if each.preset]
        return _single_page(PresetSerializer(presets, many=True).data)


class AgentTypeList(ApiView):
    """Lists types of agents."""

    required_permission = "agents:read"

    @extend_schema(responses=AgentTypeSerializer(many=True), tags=["agents"])
    def get(self, request: Request) -> Response:
        """List what an agent can be made from; POST agents/ takes the slug as agent_type."""
        return _single_page(AgentTypeSerializer(catalogue.AGENT_TYPES, many=True).data)


def _single_page(results: Any) -> Response:
    """A list as the only page of a paginated answer."""
    return Response({"results": results, "next": None, "previous": None})
