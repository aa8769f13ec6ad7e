"""The helpers of a conversation over the API."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.conversations import helper_lists, selectors
from paca.conversations.api.person_requests import ApprovalSerializer
from paca.conversations.api.serializers import OffsetDateTimeField, UsageSerializer
from paca.conversations.helper_lists import ListedHelper, ListedTeammate
from paca.conversations.models import ConversationStatus, TeammateState
from paca.engine.helpers.kinds import HelperKind
from paca.projects.api.base import ProjectView


class TeammateSerializer(serializers.Serializer[ListedTeammate]):
    """What a teammate has besides."""

    name = serializers.CharField()
    role = serializers.CharField()
    state = serializers.ChoiceField(choices=TeammateState.choices)
    end_reason = serializers.CharField(help_text="Why it has ended; empty if it has not.")
    said = serializers.CharField(help_text="Its newest answer, in one line.")


class HelperSerializer(serializers.Serializer[ListedHelper]):
    """A helper, which is a conversation of its own."""

    id = serializers.UUIDField(help_text="The conversation with its log.")
    call_id = serializers.CharField(help_text="The call that started it.")
    index = serializers.IntegerField(help_text="Its piece of work among those of the call, from 0.")
    kind = serializers.CharField(
        help_text=f"{', '.join(kind.value for kind in HelperKind)}; empty for a teammate."
    )
    task = serializers.CharField(help_text="The first line of its task.")
    status = serializers.ChoiceField(choices=ConversationStatus.choices)
    reason = serializers.CharField()
    detail = serializers.CharField()
    activity = serializers.CharField(help_text="What it does now.")
    tool = serializers.CharField(help_text="The tool of its newest call; empty if there is none.")
    subject = serializers.CharField(help_text="What its newest call is about, in one line.")
    usage = UsageSerializer()
    approval = ApprovalSerializer(
        allow_null=True, help_text="The call that waits for a person; decided at the helper's id."
    )
    team = TeammateSerializer(allow_null=True, help_text="For a teammate; null for a helper.")
    started_at = OffsetDateTimeField(allow_null=True)
    finished_at = OffsetDateTimeField(allow_null=True)


class HelpersSerializer(serializers.Serializer[Any]):
    """The newest helpers of a conversation."""

    results = HelperSerializer(many=True)


class Helpers(ProjectView):
    """The helpers of a conversation."""

    required_permission = {"GET": "conversations:read"}

    @extend_schema(responses=HelpersSerializer, tags=["conversations"])
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """List the helpers and teammates that the conversation has started last, up to 50, in the order of their start."""
        conversation = selectors.get(self.project, conversation_id)
        return Response(HelpersSerializer({"results": helper_lists.newest(conversation)}).data)
