"""What a conversation has reached over the network, over the API."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.conversations import network_use, selectors
from paca.conversations.api.serializers import OffsetDateTimeField
from paca.conversations.models import NetworkUse
from paca.projects.api.base import ProjectView
from paca.sandbox.egress.reasons import Reason, sentence


class NetworkUseSerializer(serializers.Serializer[NetworkUse]):
    """All connections of a conversation to one host and port with one outcome."""

    host = serializers.CharField(help_text="Empty: the hosts beyond the first 200 together.")
    port = serializers.IntegerField(help_text="0 if the request named none.")
    reason = serializers.CharField(
        help_text="Why the network gate refused or cut them, such as not_listed; empty if it did not."
    )
    explanation = serializers.SerializerMethodField(
        help_text="The reason as a sentence; else empty."
    )
    connections = serializers.IntegerField()
    sent_bytes = serializers.IntegerField()
    received_bytes = serializers.IntegerField()
    first_at = OffsetDateTimeField()
    last_at = OffsetDateTimeField()

    def get_explanation(self, use: NetworkUse) -> str:
        return sentence(Reason(use.reason), use.host, use.port) if use.reason else ""


class NetworkUsesSerializer(serializers.Serializer[Any]):
    """The hosts of a conversation, and the bytes of all of them."""

    results = NetworkUseSerializer(many=True)
    sent_bytes = serializers.IntegerField()
    received_bytes = serializers.IntegerField()


class NetworkUses(ProjectView):
    """The hosts that the sandbox of a conversation has reached."""

    required_permission = {"GET": "conversations:read"}

    @extend_schema(responses=NetworkUsesSerializer, tags=["conversations"])
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """List the hosts that the sandbox has reached or was refused, the newest first; at most about 200."""
        conversation = selectors.get(self.project, conversation_id)
        sent, received = network_use.transferred(conversation)
        found = {
            "results": network_use.newest(conversation),
            "sent_bytes": sent,
            "received_bytes": received,
        }
        return Response(NetworkUsesSerializer(found).data)
