"""The secrets of repositories, which no text that a run stores, shows or sends may hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from paca.agents import encryption
from paca.common.secret_removal import SecretScope, secrets_of_header
from paca.repositories import credentials
from paca.repositories.models import GitAuth, GitConnection, Repository


def of_scope(scope: SecretScope) -> Iterator[str]:
    """The secrets of the project's connections and webhooks, and the tokens that this process has of GitHub apps.

    One that cannot be decrypted is left out: nothing can use it, and it keeps no agent from its work.
    """
    connections = GitConnection.objects.filter(project=scope.project_id).exclude(auth=GitAuth.NONE)
    for username, stored in connections.values_list("username", "encrypted_secret"):
        secret = _readable(stored)
        if not secret:
            continue
        yield secret
        yield from secrets_of_header(credentials.basic(username or "git", secret))
        yield from secrets_of_header(credentials.basic("x-access-token", secret))
    webhooks = Repository.objects.filter(project=scope.project_id)
    for stored in webhooks.exclude(encrypted_webhook_secret="").values_list(
        "encrypted_webhook_secret", flat=True
    ):
        yield _readable(stored)
    for token in credentials.remembered_tokens():
        header = credentials.basic("x-access-token", token)
        yield from chain([token], secrets_of_header(header))


def _readable(stored: str) -> str:
    """The secret; empty if it cannot be decrypted."""
    try:
        return encryption.decrypt(stored)
    except encryption.SecretUnreadable:
        return ""
