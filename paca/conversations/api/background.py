"""Background commands of a conversation over the API: list them, and stop one."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.conversations import selectors
from paca.conversations.api.inputs import EmptyInput
from paca.conversations.api.serializers import OffsetDateTimeField
from paca.conversations.models import BackgroundCommand
from paca.conversations.services import background
from paca.projects.api.base import ProjectView


class BackgroundCommandSerializer(serializers.Serializer[BackgroundCommand]):
    """A command that an agent runs in the background."""

    id = serializers.CharField(source="id.hex", help_text="The id of its call.")
    handle = serializers.CharField(help_text="Its name in this conversation, such as bg1.")
    command = serializers.CharField()
    state = serializers.SerializerMethodField(
        help_text="running, stopping (somebody wants it ended) or ended."
    )
    cause = serializers.CharField(
        help_text="Why it did not end by itself, as in agent.background.finished; else empty."
    )
    exit_code = serializers.IntegerField(allow_null=True)
    output = serializers.CharField(help_text="Its newest output; of a longer one the end.")
    file = serializers.CharField(
        help_text="The file in the sandbox with the whole output, if it is cut here."
    )
    stopped_by = serializers.CharField(source="stop_by")
    started_at = OffsetDateTimeField()
    deadline_at = OffsetDateTimeField(help_text="When its time limit ends it.")
    finished_at = OffsetDateTimeField(allow_null=True)

    def get_state(self, command: BackgroundCommand) -> str:
        return command.shown_state


class BackgroundCommandsSerializer(serializers.Serializer[Any]):
    """The newest background commands of a conversation."""

    results = BackgroundCommandSerializer(many=True)


class BackgroundCommands(ProjectView):
    """The background commands of a conversation."""

    required_permission = {"GET": "conversations:read"}

    @extend_schema(responses=BackgroundCommandsSerializer, tags=["conversations"])
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """List the newest 50 background commands, those that run and those that have ended; the newest first."""
        conversation = selectors.get(self.project, conversation_id)
        found = background.newest(conversation)
        return Response(BackgroundCommandsSerializer({"results": found}).data)


class StopBackgroundCommand(ProjectView):
    """The stop of one background command."""

    required_permission = {"POST": "conversations:write"}

    @extend_schema(
        request=EmptyInput,
        responses={202: BackgroundCommandSerializer},
        tags=["conversations"],
    )
    @idempotent
    def post(self, request: Request, conversation_id: UUID, call_id: str) -> Response:
        """Have a background command ended with its processes; that takes a few seconds. One that has ended stays
        as it is."""
        EmptyInput.read(request)
        conversation = selectors.get(self.project, conversation_id)
        command = background.stop(conversation, call_id=call_id, by=self.member)
        return Response(BackgroundCommandSerializer(command).data, status=202)
