"""The credentials of repositories, as they are shown to git servers. They never enter a sandbox."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from datetime import datetime

from paca.agents import encryption
from paca.repositories.models import GitAuth, GitServerKind, Repository


@dataclass(frozen=True, slots=True)
class Credential:
    """The value of an ``Authorization`` header; empty for a public repository. It is useless after ``expires_at``."""

    header_value: str = field(repr=False)
    expires_at: datetime | None = None


def header_for(repository: Repository) -> Credential:
    """What git shows the server of a repository, for requests below the repository's address only.

    It may ask the server for a short-lived token, so it is called outside transactions. Raises
    ``SecretUnreadable`` if the stored secret cannot be read.
    """
    connection = repository.connection
    if connection is None or connection.auth == GitAuth.NONE:
        return Credential("")
    secret = encryption.decrypt(connection.encrypted_secret)
    if connection.auth == GitAuth.TOKEN and connection.kind == GitServerKind.GITHUB:
        return Credential(basic("x-access-token", secret))
    return Credential(basic(connection.username or "git", secret))


def basic(username: str, password: str) -> str:
    """The value of a header for a name and a password."""
    return "Basic " + b64encode(f"{username}:{password}".encode()).decode()
