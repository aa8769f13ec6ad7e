"""The number of live workers over the API, for a page whose conversation does not start."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.conversations.models import Worker


class WorkersSerializer(serializers.Serializer[Any]):
    """The number of workers that claim conversations now."""

    working = serializers.IntegerField()


class Workers(ApiView):
    """The workers of this server."""

    required_permission = "conversations:read"

    @extend_schema(responses=WorkersSerializer, tags=["conversations"])
    def get(self, request: Request) -> Response:
        """Count the workers that claim conversations: with a recent heartbeat, and not draining."""
        return Response(WorkersSerializer({"working": Worker.objects.working().count()}).data)
