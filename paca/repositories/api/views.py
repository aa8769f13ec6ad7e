"""API views of repositories, connections to git servers, and the repositories of an agent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import selectors as agent_selectors
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.common.api.serializers import InputSerializer
from paca.common.api.throttling import RequestsPerMinute
from paca.projects.api.base import ProjectView
from paca.repositories import contact, selectors
from paca.repositories.api.serializers import (
    AgentRepositoriesInput,
    AgentRepositoriesSerializer,
    GitConnectionChanges,
    GitConnectionInput,
    GitConnectionSerializer,
    RepositoryChanges,
    RepositoryCheckSerializer,
    RepositoryInput,
    RepositorySerializer,
    WebhookSecretSerializer,
)
from paca.repositories.models import RepositoryAccess
from paca.repositories.services import connections, repositories

REQUIRED_PERMISSIONS = {
    "GET": "projects:read",
    "POST": "projects:write",
    "PATCH": "projects:write",
    "DELETE": "projects:write",
}


class ChecksPerMinute(RequestsPerMinute):
    """A separate rate limit for tests, as each one calls another server."""

    scope = "test_connection"


class GitConnectionList(ProjectView):
    """Lists and adds connections to git servers."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=GitConnectionSerializer(many=True), tags=["repositories"])
    def get(self, request: Request) -> Response:
        """List the connections of the project, without their secrets."""
        found = selectors.connections_of(self.project)
        return NewestFirstPagination.page_response(found, self, GitConnectionSerializer)

    @extend_schema(
        request=GitConnectionInput, responses={201: GitConnectionSerializer}, tags=["repositories"]
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Add a connection. Its secret is stored encrypted, and shown by no answer."""
        given = GitConnectionInput.read(request)
        made = connections.create(self.project, by=self.member, **given)
        return Response(GitConnectionSerializer(made).data, status=201)


class GitConnectionDetail(ProjectView):
    """Shows, changes and deletes a connection."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=GitConnectionSerializer, tags=["repositories"])
    def get(self, request: Request, connection_id: UUID) -> Response:
        """Show a connection without its secret."""
        found = selectors.get_connection(self.project, connection_id)
        return Response(GitConnectionSerializer(found).data)

    @extend_schema(
        request=GitConnectionChanges, responses=GitConnectionSerializer, tags=["repositories"]
    )
    def patch(self, request: Request, connection_id: UUID) -> Response:
        """Change the given fields. `***` keeps the stored secret, unless the connection moves to another server or
        signs in another way."""
        given = GitConnectionChanges.read(request, partial=True)
        with transaction.atomic():
            found = selectors.get_connection(self.project, connection_id, for_update=True)
            require_unchanged(request, found, present=lambda: GitConnectionSerializer(found).data)
            changed = connections.change(found, by=self.member, **given)
        return Response(GitConnectionSerializer(changed).data)

    @extend_schema(responses={204: None}, tags=["repositories"])
    def delete(self, request: Request, connection_id: UUID) -> Response:
        """Delete a connection with its secret. The answer is 409 `git_connection_used` if a repository uses it."""
        with transaction.atomic():
            found = selectors.get_connection(self.project, connection_id, for_update=True)
            connections.delete(found, by=self.member)
        return self.no_content()


class RepositoryView(ProjectView):
    """The base of views of repositories."""

    required_permission = REQUIRED_PERMISSIONS

    def read_settings(self, given: dict[str, Any]) -> dict[str, Any]:
        """The settings for the service. Raises ``NotFound`` if the project has no such connection."""
        if "connection_id" in given:
            wanted = given.pop("connection_id")
            given["connection"] = wanted and selectors.get_connection(self.project, wanted)
        return given


class RepositoryList(RepositoryView):
    """Lists and links repositories."""

    @extend_schema(responses=RepositorySerializer(many=True), tags=["repositories"])
    def get(self, request: Request) -> Response:
        """List the repositories of the project."""
        found = selectors.repositories_of(self.project)
        return NewestFirstPagination.page_response(found, self, RepositorySerializer)

    @extend_schema(
        request=RepositoryInput, responses={201: RepositorySerializer}, tags=["repositories"]
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Link a repository by its HTTPS address."""
        given = self.read_settings(RepositoryInput.read(request))
        made = repositories.link(self.project, by=self.member, **given)
        return Response(RepositorySerializer(made).data, status=201)


class RepositoryDetail(RepositoryView):
    """Shows, changes and unlinks a repository."""

    @extend_schema(responses=RepositorySerializer, tags=["repositories"])
    def get(self, request: Request, repository_id: UUID) -> Response:
        """Show a repository."""
        found = selectors.get_repository(self.project, repository_id)
        return Response(RepositorySerializer(found).data)

    @extend_schema(request=RepositoryChanges, responses=RepositorySerializer, tags=["repositories"])
    def patch(self, request: Request, repository_id: UUID) -> Response:
        """Change the given fields. With another address its branches, pull requests and webhook secret are forgotten."""
        given = self.read_settings(RepositoryChanges.read(request, partial=True))
        with transaction.atomic():
            found = selectors.get_repository(self.project, repository_id, for_update=True)
            require_unchanged(request, found, present=lambda: RepositorySerializer(found).data)
            changed = repositories.change(found, by=self.member, **given)
        return Response(RepositorySerializer(changed).data)

    @extend_schema(responses={204: None}, tags=["repositories"])
    def delete(self, request: Request, repository_id: UUID) -> Response:
        """Unlink a repository. Nothing changes on its server."""
        with transaction.atomic():
            found = selectors.get_repository(self.project, repository_id, for_update=True)
            repositories.unlink(found, by=self.member)
        return self.no_content()


class CheckRepository(RepositoryView):
    """Tests a repository."""

    throttle_classes = (RequestsPerMinute, ChecksPerMinute)

    @extend_schema(request=None, responses=RepositoryCheckSerializer, tags=["repositories"])
    def post(self, request: Request, repository_id: UUID) -> Response:
        """Ask the server of the repository now, and store its default branch. A failure answers 200 and names the
        cause."""
        InputSerializer.read(request)
        found = selectors.get_repository(self.project, repository_id)
        result: Any = contact.run(found)
        stored = selectors.get_repository(self.project, repository_id)
        facts = {**result.as_dict(), "repository": stored}
        return Response(RepositoryCheckSerializer(facts).data)


class WebhookSecret(RepositoryView):
    """Makes the secret of a repository's webhooks."""

    @extend_schema(request=None, responses={201: WebhookSecretSerializer}, tags=["repositories"])
    def post(self, request: Request, repository_id: UUID) -> Response:
        """Make a new secret. This answer alone shows it, and the former one counts no more."""
        InputSerializer.read(request)
        with transaction.atomic():
            found = selectors.get_repository(self.project, repository_id, for_update=True)
            secret = repositories.renew_webhook_secret(found, by=self.member)
        path = RepositorySerializer(found).data["webhook_path"]
        shown = WebhookSecretSerializer({"secret": secret, "webhook_path": path}).data
        return Response(shown, status=201)


class RepositoriesOfAgent(ProjectView):
    """Which repositories an agent may use."""

    required_permission = {"GET": "agents:read", "PUT": "agents:write"}

    @extend_schema(responses=AgentRepositoriesSerializer, tags=["agents"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """Which repositories the agent may use: all of the project, none, or the chosen ones."""
        agent = agent_selectors.get(self.project, agent_id)
        return Response(AgentRepositoriesSerializer(selectors.access_of(agent)).data)

    @extend_schema(
        request=AgentRepositoriesInput, responses=AgentRepositoriesSerializer, tags=["agents"]
    )
    def put(self, request: Request, agent_id: UUID) -> Response:
        """Say which repositories the agent may use, from its next turn on."""
        given = AgentRepositoriesInput.read(request)
        agent = agent_selectors.get(self.project, agent_id)
        chosen = [selectors.get_repository(self.project, each) for each in given.get("chosen", [])]
        access = RepositoryAccess(given["access"])
        repositories.set_access(agent, access=access, chosen=chosen, by=self.member)
        return Response(AgentRepositoriesSerializer(selectors.access_of(agent)).data)
