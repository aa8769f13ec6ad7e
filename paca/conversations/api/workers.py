"""Whether anybody runs conversations: what a page asks when nothing happens."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.conversations.models import Worker


class WorkersSerializer(serializers.Serializer[Any]):
    """How many processes take conversations now."""

    working = serializers.IntegerField()


class Workers(ApiView):
    """The workers of this server."""

    required_permission = "conversations:read"

    @extend_schema(responses=WorkersSerializer, tags=["conversations"])
    def get(self, request: Request) -> Response:
        """Count those that take conversations: were heard of a moment ago and do not drain."""
        return Response(WorkersSerializer({"working": Worker.objects.working().count()}).data)
