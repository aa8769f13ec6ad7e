"""Serializers of repositories and connections to git servers. No answer has a secret: ``***`` stands for each."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from paca.agents.mcp_secrets import UNCHANGED
from paca.common.api.serializers import InputSerializer
from paca.repositories.models import (
    GitAuth,
    GitConnection,
    GitServerKind,
    Repository,
    RepositoryAccess,
    ReviewPolicy,
)
from paca.repositories.models.addresses import MAX_URL_CHARACTERS
from paca.repositories.models.connection import MAX_NAME_CHARACTERS
from paca.repositories.models.repository import (
    MAX_BRANCH_CHARACTERS,
    MAX_REPOSITORY_NAME_CHARACTERS,
    MAX_REVIEWERS,
)
from paca.repositories.services.connections import MAX_SECRET_CHARACTERS


class GitConnectionSerializer(serializers.ModelSerializer[GitConnection]):
    """A connection to a git server."""

    secret = serializers.SerializerMethodField(
        help_text="*** if a token, password or private key is stored."
    )
    account = serializers.CharField(
        help_text="The account of the credentials, as the server told it last; what it writes gives agents no work."
    )

    class Meta:
        model = GitConnection
        fields = (
            "id",
            "name",
            "kind",
            "base_url",
            "auth",
            "username",
            "app_id",
            "installation_id",
            "secret",
            "account",
            "created_at",
            "updated_at",
        )

    def get_secret(self, connection: GitConnection) -> str:
        return UNCHANGED if connection.encrypted_secret else ""


class GitConnectionChanges(InputSerializer):
    """The fields of a connection that can be changed. The service checks what belongs together."""

    name = serializers.CharField(required=False, max_length=MAX_NAME_CHARACTERS)
    kind = serializers.ChoiceField(choices=GitServerKind.choices, required=False)
    base_url = serializers.CharField(required=False, max_length=MAX_URL_CHARACTERS)
    auth = serializers.ChoiceField(choices=GitAuth.choices, required=False)
    username = serializers.CharField(required=False, allow_blank=True, max_length=200)
    app_id = serializers.CharField(required=False, allow_blank=True, max_length=100)
    installation_id = serializers.CharField(required=False, allow_blank=True, max_length=30)
    secret = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        max_length=MAX_SECRET_CHARACTERS,
        help_text="The token, the password or the private key of the app. *** keeps the stored one.",
    )


class GitConnectionInput(GitConnectionChanges):
    """A new connection."""

    name = serializers.CharField(max_length=MAX_NAME_CHARACTERS)
    kind = serializers.ChoiceField(choices=GitServerKind.choices)
    base_url = serializers.CharField(max_length=MAX_URL_CHARACTERS)


class ContactSerializer(serializers.Serializer[Repository]):
    """How the repository was found the last time."""

    state = serializers.CharField(help_text="unknown, works or fails.")
    problem = serializers.CharField()
    at = serializers.DateTimeField(source="contacted_at", allow_null=True)


class RepositorySerializer(serializers.ModelSerializer[Repository]):
    """A repository of a project."""

    connection_id = serializers.UUIDField(
        allow_null=True, help_text="The connection with its credentials; null for a public one."
    )
    reviewers = serializers.ListField(child=serializers.CharField())
    contact = ContactSerializer(source="*")
    webhook_path = serializers.SerializerMethodField(
        help_text="The path of this server that the git server calls."
    )
    has_webhook_secret = serializers.SerializerMethodField()

    class Meta:
        model = Repository
        fields = (
            "id",
            "name",
            "url",
            "connection_id",
            "default_branch",
            "allow_default_branch",
            "clone_at_start",
            "reviews",
            "reviewers",
            "contact",
            "webhook_path",
            "has_webhook_secret",
            "created_at",
            "updated_at",
        )

    def get_webhook_path(self, repository: Repository) -> str:
        return reverse("git_webhook", kwargs={"repository_id": repository.pk})

    def get_has_webhook_secret(self, repository: Repository) -> bool:
        return bool(repository.encrypted_webhook_secret)


class RepositoryChanges(InputSerializer):
    """The fields of a repository that can be changed."""

    name = serializers.CharField(required=False, max_length=MAX_REPOSITORY_NAME_CHARACTERS)
    url = serializers.CharField(required=False, max_length=MAX_URL_CHARACTERS)
    connection_id = serializers.UUIDField(required=False, allow_null=True)
    default_branch = serializers.CharField(
        required=False, allow_blank=True, max_length=MAX_BRANCH_CHARACTERS
    )
    allow_default_branch = serializers.BooleanField(
        required=False, help_text="Whether agents may push to the default branch."
    )
    clone_at_start = serializers.BooleanField(
        required=False, help_text="Whether it is cloned into each new sandbox."
    )
    reviews = serializers.ChoiceField(
        choices=ReviewPolicy.choices,
        required=False,
        help_text="Whose reviews on a pull request its agent works on.",
    )
    reviewers = serializers.ListField(
        child=serializers.CharField(max_length=100), required=False, max_length=MAX_REVIEWERS
    )


class RepositoryInput(RepositoryChanges):
    """A new repository. Without a name it gets the last part of its address."""

    url = serializers.CharField(max_length=MAX_URL_CHARACTERS)


class RepositoryCheckSerializer(serializers.Serializer[Any]):
    """What became of a test."""

    works = serializers.BooleanField()
    detail = serializers.CharField()
    code = serializers.CharField(help_text="Empty if it works.")
    default_branch = serializers.CharField()
    seconds = serializers.FloatField()
    repository = RepositorySerializer()


class WebhookSecretSerializer(serializers.Serializer[Any]):
    """A new secret for webhooks, which is shown this once."""

    secret = serializers.CharField()
    webhook_path = serializers.CharField()


class AgentRepositoriesSerializer(serializers.Serializer[Any]):
    """Which repositories an agent may use."""

    access = serializers.ChoiceField(choices=RepositoryAccess.choices)
    chosen = serializers.ListField(child=serializers.UUIDField())


class AgentRepositoriesInput(InputSerializer):
    """Which repositories an agent may use: all of the project, none, or the chosen ones."""

    access = serializers.ChoiceField(choices=RepositoryAccess.choices)
    chosen = serializers.ListField(child=serializers.UUIDField(), required=False, max_length=100)
