"""Opens the client of the server that a repository is on."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from paca.agents import encryption
from paca.repositories.hosts.base import GitHost
from paca.repositories.hosts.errors import NoApi
from paca.repositories.hosts.gitea import Gitea
from paca.repositories.hosts.github import Github, GithubApp
from paca.repositories.models import GitAuth, GitConnection, GitServerKind, Repository

SECONDS = 15.0


def open_host(repository: Repository, *, seconds: float = SECONDS) -> GitHost:
    """The client for a repository. ``seconds`` is the time limit of one request.

    It asks the server for a token only when it is used. Raises ``NoApi`` if the repository has no connection to GitHub
    or Gitea, and ``SecretUnreadable``.
    """
    connection = repository.connection
    if connection is None or connection.kind == GitServerKind.GIT:
        raise NoApi
    owner_and_name = path_below(repository.url, connection.base_url)
    secret = encryption.decrypt(connection.encrypted_secret) if connection.encrypted_secret else ""
    if connection.kind == GitServerKind.GITEA:
        return Gitea(connection.base_url, owner_and_name, secret, connection.username, seconds)
    app = app_of(connection, secret, seconds) if connection.auth == GitAuth.GITHUB_APP else None
    return Github(connection.base_url, owner_and_name, "" if app else secret, app, seconds)


def app_of(connection: GitConnection, private_key: str, seconds: float = SECONDS) -> GithubApp:
    """The GitHub app of a connection."""
    return GithubApp(
        connection.base_url,
        connection.app_id,
        connection.installation_id,
        private_key,
        seconds,
    )


def path_below(url: str, base_url: str) -> str:
    """The part of a repository's address behind that of its server: owner and name, as a part of a path."""
    path = urlsplit(url).path.removeprefix(urlsplit(base_url).path.rstrip("/"))
    return quote(path.strip("/").removesuffix(".git"))
