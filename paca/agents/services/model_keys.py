"""Keys that a person, a project or the server lends to agents, and which of them a turn uses.

The order is: the agent's own key, that of the person who began the turn, the project's, the server's. A person's key
pays only for turns that this person alone has begun; as soon as somebody else writes in such a turn, its next call
uses the project's or the server's.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from paca.accounts import audit
from paca.accounts.models import User
from paca.agents import encryption
from paca.agents.models import Agent, KeySource, ModelKey
from paca.agents.services import checks, variable_checks
from paca.common import validation
from paca.common.errors import Conflict, Invalid
from paca.projects.models import Project

MAX_KEYS = 50  # of one owner
ORDER = (KeySource.USER, KeySource.PROJECT, KeySource.SERVER)


class TooManyKeys(Conflict):
    """There are 50 keys. Delete one that is not used any more."""

    code = "too_many_keys"


@dataclass(frozen=True, slots=True)
class FoundKey:
    """An encrypted key with its owner and last characters; all empty if there is none."""

    encrypted_key: str = ""
    source: str = ""
    last4: str = ""


NO_KEY = FoundKey()


@transaction.atomic
def store(
    *,
    provider: str,
    key: str,
    base_url: str = "",
    user: User | None = None,
    project: Project | None = None,
    by: audit.HasActor | None,
) -> ModelKey:
    """Store the key of a person, a project, or of the server if neither is given. One of the same address is replaced.

    Raises ``Invalid``, ``TooManyKeys``, and ``ConfigurationError`` if it cannot be encrypted with ENCRYPTION_KEY.
    """
    provider, base_url, key = provider.strip(), base_url.strip(), key.strip()
    owner = {"user": user, "project": project}
    mine = ModelKey.objects.filter(**owner)
    row = mine.filter(provider=provider, base_url=base_url).first()
    if row is None and mine.count() >= MAX_KEYS:
        raise TooManyKeys
    row = row or ModelKey(provider=provider, base_url=base_url, **owner)
    if errors := _find_errors(provider, base_url, key):
        raise Invalid(fields=errors)
    variable_checks.require_no_variable_with(key, field="key", project=project, user=user)
    row.encrypted_key, row.key_last4 = encryption.sealed(key)
    validation.check(row)
    row.save()
    _record("model_key.stored", row, by=by)
    return row


@transaction.atomic
def delete(row: ModelKey, *, by: audit.HasActor | None) -> None:
    """Delete the key. Running turns keep it until they end."""
    _record("model_key.deleted", row, by=by)
    row.delete()


def find(
    provider_and_model: str, base_url: str, *, project_id: UUID, user_id: UUID | None
) -> FoundKey:
    """The key that is lent to an agent without one, for this model at this address.

    ``user_id``: the person who began the turn; None if a person's own key may not be used. A key goes only to the
    server that it was given for; of several of one owner for this server, that of this very address is taken.
    """
    destination = checks.destination_of(provider_and_model, base_url)
    rows = ModelKey.objects.for_turn(destination[0], project_id, user_id)
    found: dict[KeySource, ModelKey] = {}
    for row in rows:
        # guard: lent-key-goes-to-its-server-only
        if checks.destination_of(f"{row.provider}/", row.base_url) != destination:
            continue
        # guard: lent-key-of-the-very-address-first
        if row.source not in found or row.base_url == base_url:
            found[row.source] = row
    for source in ORDER:
        if source in found:
            row = found[source]
            return FoundKey(row.encrypted_key, source.value, row.key_last4)
    return NO_KEY


def key_of(agent: Agent, *, user_id: UUID | None) -> FoundKey:
    """The key that the agent's model is asked with in a turn of this person."""
    if agent.encrypted_key:
        return FoundKey(agent.encrypted_key, KeySource.AGENT.value, agent.key_last4)
    if agent.is_demo:
        return NO_KEY
    return find(agent.model, agent.base_url, project_id=agent.project_id, user_id=user_id)


def fallback_key_of(agent: Agent, *, user_id: UUID | None) -> FoundKey:
    """The key that the agent's fallback is asked with in a turn of this person."""
    if agent.fallback_encrypted_key or not agent.fallback_model:
        source = KeySource.AGENT.value if agent.fallback_encrypted_key else ""
        return FoundKey(agent.fallback_encrypted_key, source, agent.fallback_key_last4)
    address = agent.fallback_base_url
    return find(agent.fallback_model, address, project_id=agent.project_id, user_id=user_id)


def _find_errors(provider: str, base_url: str, key: str) -> checks.Errors:
    errors: checks.Errors = {}
    if provider == "demo" or "/" in provider:
        errors["provider"] = ["Name a provider, such as anthropic or openai."]
    elif error := checks.check_model(f"{provider}/any", base_url):
        errors["provider"] = [error]
    if error := "Type the key." if not key else checks.check_form_of_key(key):
        errors["key"] = [error]
    return errors


def _record(action: str, row: ModelKey, *, by: audit.HasActor | None) -> None:
    facts = {"owner": row.source.value, "provider": row.provider, "base_url": row.base_url}
    audit.record(action, row, by=by, project_id=row.project_id, **facts)
