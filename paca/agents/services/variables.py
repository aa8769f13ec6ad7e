"""Environment variables of agents and projects: stored encrypted, masked, and given to commands only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction
from django.db.models import Q, UUIDField

from paca.accounts import audit
from paca.agents import encryption, variable_names
from paca.agents.mcp_secrets import UNCHANGED
from paca.agents.models import Agent, EnvVar
from paca.agents.services import variable_checks
from paca.common.errors import Conflict, Invalid
from paca.common.prepared_queries import Parameter, Select
from paca.common.secret_removal import SecretScope
from paca.common.text import is_storable
from paca.projects.models import Member, Project
from paca.projects.signals import project_changed

MAX_VARIABLES = 50  # of one owner
MAX_VALUE_CHARACTERS = 8000
# Of one owner, with the names: the kernel starts no program with a few megabytes of both.
MAX_TOTAL_BYTES = 64 << 10
NAMED = (
    "Environment variables that people have set for your commands: {}. Use them by their names, such as $NAME. "
    "Never print, store or send their values: secret ones are replaced by *** in what you read."
)
UNREADABLE = (
    "These variables cannot be read on this server, so commands do not have them: {}. If you need one, say so: "
    "somebody must type its value again, or an operator must add the former ENCRYPTION_KEY."
)
NO_VALUE = "Type the value: none is stored under this name yet."
TYPE_AGAIN = "Type the value again: one that was stored as a secret is never shown."
WITHHELD = (
    "These variables hold a key of a model, so commands do not have them: {}. If you need one, say so: somebody must store"
    " another value."
)


class TooManyVariables(Conflict):
    """There are 50 variables. Delete one that is not used any more."""

    code = "too_many_variables"


@dataclass(frozen=True, slots=True)
class Variables:
    """What an agent's commands get: values by name, and which of the values are secrets.

    Commands do not get those of ``unreadable``, which ENCRYPTION_KEY does not open, and of ``withheld``, which hold a
    key of a model.
    """

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default_factory=frozenset, repr=False)
    unreadable: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()

    def describe(self) -> str:
        """The variables in the words of the system prompt, without their values; empty if there are none."""
        parts = []
        if self.values:
            parts.append(NAMED.format(", ".join(sorted(self.values))))
        if self.unreadable:
            parts.append(UNREADABLE.format(", ".join(self.unreadable)))
        if self.withheld:
            parts.append(WITHHELD.format(", ".join(self.withheld)))
        return "\n".join(parts)


@transaction.atomic
def store(
    owner: Agent | Project, *, name: str, value: str, secret: bool = True, by: Member
) -> EnvVar:
    """Store a variable of an agent or a project. One of the same name is replaced; ``***`` keeps its value.

    Raises ``Invalid``, ``TooManyVariables``, and ``ConfigurationError`` if it cannot be encrypted with ENCRYPTION_KEY.
    """
    _lock(owner)
    mine = EnvVar.objects.of(owner)
    row = mine.filter(name=name).first()
    if row is None and mine.count() >= MAX_VARIABLES:
        raise TooManyVariables
    if error := variable_names.find_error(name):
        raise Invalid(fields={"name": [error]})
    if value == UNCHANGED:
        value = _kept_value(row, secret=secret)
    row = row or EnvVar(name=name, **_owner_columns(owner))
    if error := _find_error(owner, row, value, secret=secret):
        raise Invalid(fields={"value": [error]})
    row.encrypted_value, row.secret = encryption.encrypt(value), secret
    row.save()
    _record("variable.stored", row, owner, by=by)
    return row


@transaction.atomic
def delete(row: EnvVar, owner: Agent | Project, *, by: Member) -> None:
    """Delete a variable of this owner. Commands that run keep it until they end."""
    _record("variable.deleted", row, owner, by=by)
    row.delete()


# Prepared: each turn of each conversation asks.
_OF_A_RUN = Select(
    lambda: EnvVar.objects.filter(
        Q(agent=Parameter("agent", UUIDField())) | Q(project=Parameter("project", UUIDField()))
    ).values_list("agent", "name", "encrypted_value", "secret")
)


def for_commands(agent_id: UUID, project_id: UUID) -> Variables:
    """What commands of the agent get. A variable that cannot be decrypted does not keep the agent from its work."""
    rows = _OF_A_RUN.rows(agent=agent_id, project=project_id)
    # guard: variable-of-the-agent-wins
    rows.sort(key=lambda row: row[0] is not None)
    found = {name: (stored, secret) for _, name, stored, secret in rows}
    values, secrets, unreadable, withheld = {}, set(), [], []
    keys = variable_checks.model_keys_of(project_id) if found else frozenset()
    for name, (stored, secret) in sorted(found.items()):
        try:
            value = encryption.decrypt(stored)
        except encryption.SecretUnreadable:
            unreadable.append(name)
            continue
        if secret:
            secrets.add(value)
        # It may have become one after the variable was stored.
        # guard: commands-get-no-model-keys
        if variable_checks.has_one_of(value, keys):
            withheld.append(name)
            continue
        values[name] = value
    return Variables(values, frozenset(secrets), tuple(unreadable), tuple(withheld))


def secrets_of(scope: SecretScope) -> Iterator[str]:
    """The secret values that conversations of the scope can meet, overridden ones too.

    One that cannot be decrypted is left out: no command gets it.
    """
    if scope.agent_id is not None:
        rows = _OF_A_RUN.rows(agent=scope.agent_id, project=scope.project_id)
        stored = [encrypted for _, _, encrypted, secret in rows if secret]
    else:
        of_project = Q(project=scope.project_id) | Q(agent__project=scope.project_id)
        found = EnvVar.objects.filter(of_project, secret=True)
        stored = list(found.values_list("encrypted_value", flat=True))
    for each in stored:
        with suppress(encryption.SecretUnreadable):
            yield encryption.decrypt(each)


def listed(owner: Agent | Project) -> list[tuple[EnvVar, str]]:
    """The variables of the owner, each with its value for people."""
    return [(row, shown_value(row)) for row in EnvVar.objects.of(owner)]


def shown_value(row: EnvVar) -> str:
    """The value for people: ``***`` for a secret, and for one that cannot be decrypted."""
    # guard: secret-variables-are-masked
    if row.secret:
        return UNCHANGED
    try:
        return encryption.decrypt(row.encrypted_value)
    except encryption.SecretUnreadable:
        return UNCHANGED


def _kept_value(row: EnvVar | None, *, secret: bool) -> str:
    """The stored value, for ``***``. Raises ``Invalid`` if none is stored, or if it would be shown from now on."""
    if row is None:
        raise Invalid(fields={"value": [NO_VALUE]})
    # guard: a-secret-is-not-shown-later
    if row.secret and not secret:
        raise Invalid(fields={"value": [TYPE_AGAIN]})
    return encryption.decrypt(row.encrypted_value)


def _find_error(owner: Agent | Project, row: EnvVar, value: str, *, secret: bool) -> str:
    if not value or len(value) > MAX_VALUE_CHARACTERS or not is_storable(value):
        return f"A value is a text of 1 to {MAX_VALUE_CHARACTERS} characters."
    if secret and (error := variable_checks.secret_error(value)):
        return error
    others = EnvVar.objects.of(owner).exclude(pk=row.pk).values_list("name", "encrypted_value")
    # Encrypted texts are a third longer than their values; that is close enough, and needs no key.
    used = sum(len(name) + len(stored) * 3 // 4 for name, stored in others)
    if used + len(row.name) + len(value.encode()) > MAX_TOTAL_BYTES:
        return f"All variables together have at most {MAX_TOTAL_BYTES >> 10} KiB. Put long texts into a file."
    # guard: variables-are-no-model-keys
    if variable_checks.has_one_of(value, variable_checks.model_keys_of(_project_id(owner))):
        return variable_checks.IS_MODEL_KEY
    return ""


def _project_id(owner: Agent | Project) -> UUID:
    return owner.project_id if isinstance(owner, Agent) else owner.pk


def _owner_columns(owner: Agent | Project) -> dict[str, Agent | Project]:
    return {"agent": owner} if isinstance(owner, Agent) else {"project": owner}


def _lock(owner: Agent | Project) -> None:
    """Two people who add variables at once must not exceed the limits together."""
    rows = type(owner)._default_manager.select_for_update(no_key=True)
    list(rows.filter(pk=owner.pk).values_list("pk"))


def _record(action: str, row: EnvVar, owner: Agent | Project, *, by: Member) -> None:
    facts = {"name": row.name, "secret": row.secret, "owner": str(owner)}
    audit.record(action, row, by=by, project_id=_project_id(owner), **facts)
    noun = "agent" if isinstance(owner, Agent) else "project"
    project_changed.send(sender=EnvVar, project_id=_project_id(owner), noun=noun, id=owner.pk)
