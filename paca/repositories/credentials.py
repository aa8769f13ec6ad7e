"""The credentials of repositories, as they are shown to git servers. They never enter a sandbox."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from paca.agents import encryption
from paca.repositories.hosts.errors import GitServerRefused
from paca.repositories.hosts.github import MAX_TOKEN_SECONDS, InstallationToken
from paca.repositories.hosts.opening import app_of, path_below
from paca.repositories.models import GitAuth, GitConnection, GitServerKind, Repository
from paca.repositories.models.addresses import is_below

MAX_REMEMBERED = 500
FRESH, LONGEST = timedelta(minutes=30), timedelta(seconds=MAX_TOKEN_SECONDS)
_tokens: dict[tuple[str, ...], InstallationToken] = {}


@dataclass(frozen=True, slots=True)
class Credential:
    """The value of an ``Authorization`` header; empty for a public repository. It is useless after ``expires_at``."""

    header_value: str = field(repr=False)
    expires_at: datetime | None = None


def header_for(repository: Repository) -> Credential:
    """What git shows the server of a repository, for requests below the repository's address only.

    It may ask the server for a short-lived token, so it is called outside transactions. Raises
    ``SecretUnreadable`` if the stored secret cannot be read, ``GitServerRefused`` if the repository is not on the server
    of its connection, and the other errors of ``hosts.errors``.
    """
    connection = repository.connection
    if connection is None or connection.auth == GitAuth.NONE:
        return Credential("")
    secret = encryption.decrypt(connection.encrypted_secret)
    # guard: git-credentials-stay-with-their-server
    if not is_below(repository.url, connection.base_url):
        raise GitServerRefused(
            f"{repository.name} is not on the server of its connection, so it gets no credentials."
        )
    if connection.auth == GitAuth.GITHUB_APP:
        token = _app_token(repository, connection, secret)
        return Credential(basic("x-access-token", token.value), token.expires_at)
    if connection.auth == GitAuth.TOKEN and connection.kind == GitServerKind.GITHUB:
        return Credential(basic("x-access-token", secret))
    return Credential(basic(connection.username or "git", secret))


def _app_token(
    repository: Repository, connection: GitConnection, private_key: str
) -> InstallationToken:
    """A token for this repository only, which is used again for the first half of its hour."""
    # The hash: another private key must get another token.
    identity = hashlib.sha256(private_key.encode()).hexdigest()
    key = (
        connection.base_url,
        connection.app_id,
        connection.installation_id,
        repository.url,
        identity,
    )
    now = timezone.now()
    known = _tokens.get(key)
    # The upper bound: a clock that was set back would keep an old token for hours.
    # guard: app-token-is-fresh
    if known is not None and FRESH < known.expires_at - now <= LONGEST:
        return known
    path = path_below(repository.url, connection.base_url)
    token = app_of(connection, private_key).token_for(path)
    if len(_tokens) >= MAX_REMEMBERED:
        _tokens.clear()
    _tokens[key] = token
    return token


def remembered_tokens() -> list[str]:
    """The tokens of GitHub apps that this process has, to be removed from texts."""
    return [token.value for token in list(_tokens.values())]


def basic(username: str, password: str) -> str:
    """The value of a header for a name and a password."""
    return "Basic " + b64encode(f"{username}:{password}".encode()).decode()
