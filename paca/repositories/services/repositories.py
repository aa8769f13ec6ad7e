"""Services that link, change and unlink repositories, and say which ones an agent may use."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.agents import encryption
from paca.agents import selectors as agent_selectors
from paca.agents.models import Agent
from paca.common import validation
from paca.common.errors import Conflict, Invalid
from paca.common.text import to_storable
from paca.projects.models import Project
from paca.projects.services import tasks
from paca.projects.signals import project_changed
from paca.repositories.hosts.addresses import may_be_plain
from paca.repositories.models import (
    AgentRepositories,
    ContactState,
    GitConnection,
    Repository,
    RepositoryAccess,
)
from paca.repositories.models.addresses import is_below
from paca.repositories.models.connection import has_api_address
from paca.repositories.models.repository import (
    MAX_BRANCH_CHARACTERS,
    MAX_PROBLEM_CHARACTERS,
    MAX_REPOSITORY_NAME_CHARACTERS,
)

MAX_REPOSITORIES = 50
SETTINGS = frozenset(
    {
        "name",
        "url",
        "connection",
        "default_branch",
        "allow_default_branch",
        "clone_at_start",
        "reviews",
        "reviewers",
    }
)
Errors = dict[str, list[str]]


class TooManyRepositories(Conflict):
    """This project has as many repositories as it can have. Unlink one first."""

    code = "too_many_repositories"


@transaction.atomic
def link(project: Project, *, by: audit.HasActor | None, **settings: Any) -> Repository:
    """Link a repository. ``settings`` are any of ``SETTINGS``; without a name it gets that of its address.

    Raises ``Invalid`` with the errors of each field, and ``TooManyRepositories``.
    """
    Project.objects.select_for_update(no_key=True).only("pk").get(pk=project.pk)
    repository = Repository(project=project)
    _store(repository, settings)
    if project.repositories.count() >= MAX_REPOSITORIES:
        raise TooManyRepositories
    repository.save(force_insert=True)
    audit.record("repository.linked", repository, by=by, project_id=project.pk, url=repository.url)
    _tell_pages(repository)
    return repository


@transaction.atomic
def change(repository: Repository, *, by: audit.HasActor | None, **settings: Any) -> Repository:
    """Change the given settings. With another address it is another repository: its branches, pull requests and
    webhook secret are forgotten.

    Raises ``Invalid`` with the errors of each field.
    """
    before = Repository.objects.get(pk=repository.pk)
    _store(repository, settings)
    changed = sorted(
        name
        for name in SETTINGS
        if getattr(before, _column(name)) != getattr(repository, _column(name))
    )
    if not changed:
        return repository
    if {"url", "connection"} & set(changed):
        repository.state, repository.problem, repository.contacted_at = (
            ContactState.UNKNOWN,
            "",
            None,
        )
    if before.url != repository.url:
        # guard: another-repository-begins-anew
        _forget(repository)
    repository.save()
    audit.record(
        "repository.changed", repository, by=by, project_id=repository.project_id, fields=changed
    )
    _tell_pages(repository)
    return repository


@transaction.atomic
def unlink(repository: Repository, *, by: audit.HasActor | None) -> None:
    """Unlink the repository, with its webhook secret and what is known of its branches and pull requests."""
    # What refers to it is looked up before it is deleted, so whoever stores that waits from here on.
    list(Repository.objects.select_for_update(no_key=True).filter(pk=repository.pk))
    audit.record("repository.unlinked", repository, by=by, project_id=repository.project_id)
    _tell_pages(repository)
    repository.delete()


@transaction.atomic
def renew_webhook_secret(repository: Repository, *, by: audit.HasActor | None) -> str:
    """Make a new secret for webhooks, and give it: it is shown this once. The former one counts no more.

    Raises ``ConfigurationError`` if it cannot be encrypted with ENCRYPTION_KEY.
    """
    secret = secrets.token_urlsafe(32)
    repository.encrypted_webhook_secret = encryption.encrypt(secret)
    repository.save(update_fields=["encrypted_webhook_secret", "updated_at"])
    audit.record(
        "repository.webhook_secret_renewed", repository, by=by, project_id=repository.project_id
    )
    _tell_pages(repository)
    return secret


@transaction.atomic
def report(repository: Repository, *, problem: str = "", default_branch: str = "") -> None:
    """Store how the repository was found. A default branch that the server tells is stored if none is."""
    rows = Repository.objects.filter(pk=repository.pk)
    if default_branch:
        rows.filter(default_branch="").update(
            default_branch=to_storable(default_branch)[:MAX_BRANCH_CHARACTERS]
        )
    rows.update(
        state=ContactState.FAILS if problem else ContactState.WORKS,
        problem=to_storable(problem)[:MAX_PROBLEM_CHARACTERS],
        contacted_at=timezone.now(),
    )
    _tell_pages(repository)


def report_account(connection: GitConnection, account: str) -> None:
    """Store the name of the account that the server has told."""
    GitConnection.objects.filter(pk=connection.pk).update(account=to_storable(account)[:200])


@transaction.atomic
def set_access(
    agent: Agent,
    *,
    access: RepositoryAccess,
    chosen: Collection[Repository] = (),
    by: audit.HasActor | None,
) -> AgentRepositories:
    """Say which repositories the agent may use. ``chosen`` counts with the access ``chosen`` only.

    Raises ``Invalid`` if one of them is of another project or was unlinked meanwhile, and ``NotFound`` if the agent is
    retired.
    """
    tasks.lock_project(agent.project_id)
    # guard: repositories-of-an-agent-are-chosen-under-its-lock
    agent_selectors.get(agent.project, agent.pk, for_update=True)
    # guard: chosen-repositories-of-the-project
    if any(each.project_id != agent.project_id for each in chosen):
        raise Invalid(fields={"chosen": ["Choose repositories of the agent's project."]})
    rows = Repository.objects.filter(pk__in=[each.pk for each in chosen]).order_by("pk")
    if len(rows.select_for_update(no_key=True)) < len(chosen):
        raise Invalid(fields={"chosen": ["A repository was unlinked meanwhile. Choose again."]})
    setting, _ = AgentRepositories.objects.update_or_create(
        agent=agent, defaults={"access": access}
    )
    setting.chosen.set(chosen if access == RepositoryAccess.CHOSEN else ())
    audit.record(
        "agent.repositories_changed",
        agent,
        by=by,
        project_id=agent.project_id,
        access=str(access),
        chosen=sorted(each.name for each in chosen),
    )
    project_changed.send(
        sender=AgentRepositories, project_id=agent.project_id, noun="agent", id=agent.pk
    )
    return setting


def name_of(url: str) -> str:
    """The name that a repository of this address gets: the last part of its path."""
    last = urlsplit(url).path.rstrip("/").rpartition("/")[2].removesuffix(".git").lower()
    name = re.sub(r"[^a-z0-9._-]+|(?<=[._-])[._-]+", "-", last).strip("-._")
    return re.sub(r"[._-]{2,}", "-", name)[:MAX_REPOSITORY_NAME_CHARACTERS].strip("-._")


def _store(repository: Repository, settings: Mapping[str, Any]) -> None:
    """Set all given settings on the row. Raises ``Invalid`` with the errors of each field."""
    for name, value in settings.items():
        if name not in SETTINGS:
            raise TypeError(f"a repository has no setting {name!r}")
        setattr(repository, name, value.strip() if isinstance(value, str) else value)
    with suppress(ValueError):  # the validators say it
        repository.url = _normalized(repository.url)
        repository.name = repository.name or name_of(repository.url)
    if errors := _find_errors(repository):
        raise Invalid(fields=errors)


def _find_errors(repository: Repository) -> Errors:
    connection = repository.connection
    # guard: connection-of-the-same-project
    if connection is not None and connection.project_id != repository.project_id:
        return {"connection": ["The project has no such connection."]}
    errors: Errors = {}
    try:
        validation.check(repository)
    except Invalid as invalid:
        errors |= invalid.fields
    if "url" not in errors:
        errors |= _errors_of_url(repository)
    if "default_branch" not in errors and not is_branch_name(repository.default_branch or "main"):
        errors["default_branch"] = ["This is no name of a branch."]
    return errors


def _errors_of_url(repository: Repository) -> Errors:
    # guard: repositories-by-tls
    if not may_be_plain(repository.url):
        return {"url": ["Write https://. Only servers of PRIVATE_GIT_SERVERS may use http://."]}
    connection = repository.connection
    # guard: repository-is-on-the-server-of-its-connection
    if connection is not None and not is_below(repository.url, connection.base_url):
        return {
            "connection": [
                f"Its credentials are for {connection.base_url} only, and the repository is not there."
            ]
        }
    if connection is not None and not has_api_address(repository.url, connection):
        return {"url": [f"Write {connection.base_url}/owner/name."]}
    return {}


def _normalized(address: str) -> str:
    """The address with a small host and no slash at its end. Raises ``ValueError`` if it is none."""
    url = urlsplit(address)
    if not url.hostname:
        raise ValueError
    return urlunsplit(
        (url.scheme, url.netloc.lower(), url.path.rstrip("/"), url.query, url.fragment)
    )


# As git's own rules have it; see git-check-ref-format.
_BAD_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|/\.|\.lock(?:/|\Z)|\.\Z|/\Z")


def is_branch_name(name: str) -> bool:
    """Whether git takes it as the name of a branch."""
    return (
        0 < len(name) <= MAX_BRANCH_CHARACTERS
        and name[0] not in "-/."
        and name not in ("@", "HEAD")
        and not name.startswith("refs/")
        and not _BAD_BRANCH.search(name)
    )


def _forget(repository: Repository) -> None:
    repository.encrypted_webhook_secret = ""
    repository.branches.all().delete()
    repository.deliveries.all().delete()


def _column(name: str) -> str:
    return "connection_id" if name == "connection" else name


def _tell_pages(repository: Repository) -> None:
    project_changed.send(
        sender=Repository,
        project_id=repository.project_id,
        noun="repository",
        id=repository.pk,
    )
