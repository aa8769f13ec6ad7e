"""API views of the keys that a person or a project lends to agents. No answer has a key."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.agents.models import ModelKey
from paca.agents.services import model_keys
from paca.agents.services.checks import MAX_KEY_CHARACTERS
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.serializers import InputSerializer
from paca.common.errors import NotFound
from paca.projects.api.base import ProjectView


class ModelKeySerializer(serializers.ModelSerializer[ModelKey]):
    """A stored key: where it goes, and its last four characters."""

    owner = serializers.CharField(source="source", help_text="user, project or server.")
    last4 = serializers.CharField(source="key_last4")

    class Meta:
        model = ModelKey
        fields = ("id", "owner", "provider", "base_url", "last4", "created_at", "updated_at")


class ModelKeyInput(InputSerializer):
    """A key of a provider."""

    provider = serializers.CharField(max_length=50, help_text="Such as anthropic or openai.")
    base_url = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=500,
        help_text="Of a server of your own or a gateway. The key goes to this server only.",
    )
    key = serializers.CharField(
        max_length=MAX_KEY_CHARACTERS, write_only=True, help_text="Never shown again."
    )


class OwnModelKeys(ApiView):
    """Your own keys. They pay only for turns that you alone have begun."""

    @extend_schema(responses=ModelKeySerializer(many=True), tags=["model keys"])
    def get(self, request: Request) -> Response:
        """List your own keys."""
        rows = ModelKey.objects.of_user(self.person)
        return NewestFirstPagination.page_response(rows, self, ModelKeySerializer)

    @extend_schema(request=ModelKeyInput, responses={201: ModelKeySerializer}, tags=["model keys"])
    def post(self, request: Request) -> Response:
        """Store a key of yours. One for the same provider and server is replaced."""
        given = ModelKeyInput.read(request)
        row = model_keys.store(user=self.person, by=self.person, **given)
        return Response(ModelKeySerializer(row).data, status=201)


class OwnModelKey(ApiView):
    """One of your own keys."""

    @extend_schema(responses={204: None}, tags=["model keys"])
    def delete(self, request: Request, own_key_id: UUID) -> Response:
        """Delete a key of yours."""
        row = ModelKey.objects.of_user(self.person).filter(pk=own_key_id).first()
        if row is None:
            raise NotFound
        model_keys.delete(row, by=self.person)
        return Response(status=204)


class ProjectModelKeys(ProjectView):
    """The keys of the project, for its agents without a key of their own."""

    required_permission = {"GET": "agents:write", "POST": "projects:write"}

    @extend_schema(responses=ModelKeySerializer(many=True), tags=["model keys"])
    def get(self, request: Request) -> Response:
        """List the keys of the project."""
        rows = ModelKey.objects.of_project(self.project)
        return NewestFirstPagination.page_response(rows, self, ModelKeySerializer)

    @extend_schema(request=ModelKeyInput, responses={201: ModelKeySerializer}, tags=["model keys"])
    def post(self, request: Request) -> Response:
        """Store a key of the project. One for the same provider and server is replaced."""
        given: dict[str, Any] = ModelKeyInput.read(request)
        row = model_keys.store(project=self.project, by=self.member, **given)
        return Response(ModelKeySerializer(row).data, status=201)


class ProjectModelKey(ProjectView):
    """One of the project's keys."""

    required_permission = {"DELETE": "projects:write"}

    @extend_schema(responses={204: None}, tags=["model keys"])
    def delete(self, request: Request, key_id: UUID) -> Response:
        """Delete a key of the project."""
        row = ModelKey.objects.of_project(self.project).filter(pk=key_id).first()
        if row is None:
            raise NotFound
        model_keys.delete(row, by=self.member)
        return self.no_content()
