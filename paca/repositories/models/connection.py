"""Connections of a project to git servers, with the credentials that are shown there."""

from __future__ import annotations

from typing import Self
from urllib.parse import urlsplit

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.projects.models import Project
from paca.repositories.models.addresses import MAX_URL_CHARACTERS, check_server_url

MAX_NAME_CHARACTERS = 60


class GitServerKind(models.TextChoices):
    """Which API a git server has besides git."""

    GIT = "git", "Any git server"
    GITHUB = "github", "GitHub"
    GITEA = "gitea", "Gitea or Forgejo"


class GitAuth(models.TextChoices):
    """How Paca shows a git server who it is."""

    NONE = "none", "No credentials"
    TOKEN = "token", "Token"
    BASIC = "basic", "Name and password"
    GITHUB_APP = "github_app", "GitHub app"


def has_api_address(url: str, connection: GitConnection) -> bool:
    """Whether the API of the connection's server knows a repository of this address: only as owner and name."""
    if connection.kind == GitServerKind.GIT:
        return True
    path = urlsplit(url).path.removeprefix(urlsplit(connection.base_url).path.rstrip("/"))
    return len(path.strip("/").split("/")) == 2


class GitConnectionQuerySet(models.QuerySet["GitConnection"]):
    """Queries of connections to git servers."""

    def for_project(self, project: Project) -> Self:
        """The connections of a project."""
        # guard: git-connection-of-the-project
        return self.filter(project=project)


class GitConnection(BaseModel):
    """A git server and the credentials for it. They are sent to addresses below ``base_url`` only.

    ``encrypted_secret`` is the token, the password or the private key of the GitHub app. ``account`` is the name of the
    account there, as the server told it last; what it writes there never gives an agent work.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="git_connections")
    name = models.CharField(max_length=MAX_NAME_CHARACTERS)
    kind = models.CharField(max_length=10, choices=GitServerKind)
    base_url = models.CharField(max_length=MAX_URL_CHARACTERS, validators=[check_server_url])
    auth = models.CharField(max_length=12, choices=GitAuth, default=GitAuth.NONE)
    username = models.CharField(max_length=200, blank=True)
    app_id = models.CharField(max_length=100, blank=True)
    installation_id = models.CharField(max_length=30, blank=True)
    account = models.CharField(
        max_length=200, blank=True, db_default="", default="", editable=False
    )
    encrypted_secret = models.TextField(blank=True, editable=False)

    objects = GitConnectionQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="git_connection_name_is_unique_in_its_project",
                violation_error_message="The project has a connection of this name.",
            ),
            models.CheckConstraint(
                name="git_connection_has_a_secret_unless_without_credentials",
                condition=Q(auth=GitAuth.NONE, encrypted_secret="")
                | (~Q(auth=GitAuth.NONE) & ~Q(encrypted_secret="")),
            ),
            models.CheckConstraint(
                name="git_connection_of_a_github_app_is_to_github",
                condition=~Q(auth=GitAuth.GITHUB_APP)
                | (Q(kind=GitServerKind.GITHUB) & ~Q(app_id="") & ~Q(installation_id="")),
            ),
        ]

    def __str__(self) -> str:
        return self.name
