"""Which values environment variables cannot have: keys of models, and as secrets words that stand in ordinary texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from uuid import UUID

from django.db.models import Q

from paca.accounts.models import User
from paca.agents import encryption
from paca.agents.models import Agent, EnvVar, ModelKey
from paca.common.errors import Invalid
from paca.common.secret_removal import TOO_SHORT, is_long_enough
from paca.engine.llm import credentials
from paca.projects.models import Member, Project

OTHERWISE = "Take a longer one, or store it as not secret."
ORDINARY = (
    "This value stands in ordinary texts, which would all be masked, and anybody guesses it."
    " Store it as not secret, or take another one."
)
IS_MODEL_KEY = (
    "This is a key of a model, which never enters a sandbox. Make a key of its own for commands."
)
IN_VARIABLE = (
    "The environment variable {name} of {owner} has this key, which never enters a sandbox. Make a key of its own for"
    " commands and store it there, or delete the variable."
)
# Of at least eight characters: shorter ones are no secrets anyway.
ORDINARY_WORDS = frozenset(
    [
        *(
            "anonymous",
            "application",
            "changeme",
            "container",
            "database",
            "debugging",
            "defaults",
            "deployment",
        ),
        *(
            "developer",
            "development",
            "disabled",
            "information",
            "integration",
            "internal",
            "localhost",
            "maintenance",
        ),
        *(
            "password",
            "placeholder",
            "postgres",
            "postgresql",
            "preproduction",
            "production",
            "readonly",
            "readwrite",
        ),
        *("required", "standard", "undefined", "unlimited", "username", "warnings", "workspace"),
    ]
)
LOCAL_ADDRESS = re.compile(
    r"(?:[a-z]+://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?/?", re.IGNORECASE
)


def secret_error(value: str) -> str:
    """Why this value cannot be a secret, in words; empty if it can."""
    if not is_long_enough(value):
        return f"{TOO_SHORT} {OTHERWISE}"
    word = value.strip().lower()
    # guard: ordinary-words-are-no-secrets
    if word in ORDINARY_WORDS or len(set(word)) < 3 or LOCAL_ADDRESS.fullmatch(word):
        return ORDINARY
    return ""


def model_keys_of(project_id: UUID) -> frozenset[str]:
    """The keys of models that the agents of a project can be asked with, as plain texts."""
    people = Member.objects.filter(project=project_id, user__isnull=False).values("user")
    lent = ModelKey.objects.filter(
        Q(project=project_id) | Q(user__in=people) | Q(project=None, user=None)
    )
    columns = ("encrypted_key", "fallback_encrypted_key")
    own = Agent.objects.filter(project=project_id).values_list(*columns)
    stored = [*lent.values_list("encrypted_key", flat=True), *(key for row in own for key in row)]
    return frozenset(key for text in _decrypted(stored) for key in _parts(text))


def has_one_of(value: str, keys: Iterable[str]) -> bool:
    """Whether one of the keys of models stands in the value."""
    return any(key in value for key in keys)


def require_no_variable_with(
    key: str | None, *, field: str, project: Project | None = None, user: User | None = None
) -> None:
    """Raises ``Invalid`` for this field if commands that the owner of a new key lends it to would get it as a variable.

    Without an owner it is that of the server, which all projects use.
    """
    rows = EnvVar.objects.select_related("agent", "project")
    if project is not None:
        rows = rows.filter(Q(project=project) | Q(agent__project=project))
    elif user is not None:
        projects = Member.objects.live().filter(user=user).values("project")
        rows = rows.filter(Q(project__in=projects) | Q(agent__project__in=projects))
    if not key or not (parts := _parts(key)):
        return
    for row in rows.iterator():
        # guard: model-keys-are-no-variables
        if any(has_one_of(value, parts) for value in _decrypted([row.encrypted_value])):
            said = IN_VARIABLE.format(name=row.name, owner=row.agent or row.project)
            raise Invalid(fields={field: [said]})


def _parts(key: str) -> tuple[str, ...]:
    """The secrets in a key. Servers that want none are given words such as EMPTY, which are no secrets."""
    return tuple(each for each in credentials.secrets_of(key) if is_long_enough(each))


def _decrypted(stored: Iterable[str]) -> Iterator[str]:
    """What ENCRYPTION_KEY opens. Nothing can use the others."""
    for each in filter(None, stored):
        with suppress(encryption.SecretUnreadable):
            yield encryption.decrypt(each)
