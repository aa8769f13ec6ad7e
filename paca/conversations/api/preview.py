"""The preview of the context that a run of an agent begins with."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.agents import selectors as agents
from paca.conversations import context_preview
from paca.conversations.api.inputs import QuerySerializer
from paca.engine.context import trigger_prompts
from paca.projects import selectors as projects
from paca.projects.api.base import ProjectView

HIGHEST_NUMBER = 2**31 - 1


class PreviewQuery(QuerySerializer):
    """The trigger of the conversation to preview."""

    trigger_type = serializers.ChoiceField(
        choices=sorted(trigger_prompts.DEFAULTS), default="chat_message"
    )
    task = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=HIGHEST_NUMBER,
        help_text="The number of a task that the conversation is about. It needs tasks:read too.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "task" in attrs and attrs["trigger_type"] == "chat_message":
            raise serializers.ValidationError({"task": ["A chat is about no task."]})
        return attrs


class ContextPartSerializer(serializers.Serializer[Any]):
    """A part of the context. Tokens are estimated at four characters each."""

    name = serializers.CharField()
    text = serializers.CharField()
    tokens = serializers.IntegerField()


class ContextToolSerializer(serializers.Serializer[Any]):
    """A tool as the model is told of it."""

    name = serializers.CharField()
    description = serializers.CharField()
    arguments = serializers.DictField(help_text="A JSON schema.")
    tokens = serializers.IntegerField()


class PreviewSerializer(serializers.Serializer[Any]):
    """The context of a first request: the parts of the system prompt in their order, and the tools.

    With a task the parts of the first message follow: ``message``, and an ``opened_skill`` for each skill
    that it calls for.
    """

    parts = ContextPartSerializer(many=True)
    tools = ContextToolSerializer(many=True)
    tokens = serializers.IntegerField(help_text="The estimate for all of it.")
    window = serializers.IntegerField(
        allow_null=True, help_text="The model's window in tokens; null if it is not known."
    )


class Preview(ProjectView):
    """The context that a run of an agent begins with."""

    required_permission = "agents:read"

    @extend_schema(parameters=[PreviewQuery], responses=PreviewSerializer, tags=["agents"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """Show the prompt and tools of an agent as its next conversation sends them, with their sizes."""
        query = PreviewQuery.read_query(request)
        agent = agents.get(self.project, agent_id)
        task = None
        if "task" in query:
            self.require_permission("tasks:read")
            task = projects.get_task(self.project, query["task"])
        found = context_preview.preview(
            agent, self.project, trigger_type=query["trigger_type"], task=task, by=self.member
        )
        return Response(PreviewSerializer(found).data)
