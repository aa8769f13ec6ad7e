"""Repositories and connections for tests, made without their services."""

from typing import Any

from paca.agents import encryption
from paca.projects.models import Project
from paca.repositories.models import GitConnection, Repository
from tests.support.git_host_server import TOKEN


def make_connection(
    project: Project,
    *,
    kind: str = "gitea",
    base_url: str = "https://git.example.org",
    secret: str = TOKEN,
    **fields: Any,
) -> GitConnection:
    """A connection with a token."""
    return GitConnection.objects.create(
        project=project,
        kind=kind,
        base_url=base_url,
        encrypted_secret=encryption.encrypt(secret) if secret else "",
        **{"name": kind, "auth": "token", **fields},
    )


def make_repository(
    project: Project,
    name: str = "shop",
    *,
    connection: GitConnection | None = None,
    base_url: str = "https://git.example.org",
    **fields: Any,
) -> Repository:
    """A repository ``team/<name>``, public without a connection."""
    base = connection.base_url if connection else base_url
    return Repository.objects.create(
        project=project,
        connection=connection,
        name=name,
        url=fields.pop("url", f"{base}/team/{name}.git"),
        **{"default_branch": "main", **fields},
    )
