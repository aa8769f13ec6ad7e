"""Encrypts every stored secret with the first encryption key, while Paca runs."""

from collections.abc import Iterator

from django.db import models

from paca.agents import encryption
from paca.agents.models import Agent, EnvVar, McpGrant, McpServer, McpSignIn, ModelKey

# All columns with secrets; apps above this one add theirs when they are ready. A test finds a missing one.
SECRET_COLUMNS: list[tuple[type[models.Model], str]] = [
    (Agent, "encrypted_key"),
    (Agent, "fallback_encrypted_key"),
    (ModelKey, "encrypted_key"),
    (EnvVar, "encrypted_value"),
    (McpServer, "encrypted_env"),
    (McpServer, "encrypted_headers"),
    (McpServer, "encrypted_oauth_secret"),
    (McpGrant, "encrypted_client_secret"),
    (McpGrant, "encrypted_access_token"),
    (McpGrant, "encrypted_refresh_token"),
    (McpSignIn, "encrypted_flow"),
]


def check_readable() -> int:
    """The number of secrets.

    Call it before ``rotate``: otherwise a missing old key would leave some secrets under the old key
    and some under the new one.

    Raises ``SecretUnreadable`` unless all can be decrypted, and ``ConfigurationError`` if there are
    secrets and ENCRYPTION_KEY is empty or has a malformed key.
    """
    total = unreadable = 0
    for _, _, _, stored in _secrets():
        total += 1
        try:
            encryption.decrypt(stored)
        except encryption.SecretUnreadable:
            unreadable += 1
    if unreadable:
        raise encryption.SecretUnreadable(
            f"{unreadable} of {total} secrets cannot be read with ENCRYPTION_KEY; nothing was changed. "
            "Add the key that encrypted them behind the new one: ENCRYPTION_KEY=new,old"
        )
    return total


def rotate() -> Iterator[int]:
    """Encrypt secrets of older keys with the first key, row by row; yields how many are done.

    Raises ``SecretUnreadable`` if a secret cannot be decrypted, and ``ConfigurationError`` as
    ``check_readable`` does.
    """
    done = 0
    for model, column, pk, stored in _secrets():
        if encryption.is_current(stored):
            continue
        fresh = encryption.encrypt(encryption.decrypt(stored))
        if encryption.decrypt(fresh) != encryption.decrypt(stored):
            raise encryption.SecretUnreadable(
                "A secret did not survive its re-encryption; it was left unchanged."
            )
        # Changes nothing if the secret was replaced in the meantime: the new one uses the first key.
        rows = model._default_manager.filter(pk=pk, **{column: stored})
        done += rows.update(**{column: fresh})
        yield done


def count_outdated() -> int:
    """The number of secrets that are not encrypted with the first key.

    Raises ``ConfigurationError`` as ``check_readable`` does.
    """
    return sum(not encryption.is_current(stored) for _, _, _, stored in _secrets())


def _secrets() -> Iterator[tuple[type[models.Model], str, object, str]]:
    for model, column in SECRET_COLUMNS:
        rows = model._default_manager.exclude(**{column: ""}).values_list("pk", column)
        for pk, stored in rows.iterator(chunk_size=500):
            yield model, column, pk, stored
