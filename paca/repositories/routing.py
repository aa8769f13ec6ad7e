"""Where the repositories of an agent are: for its sandbox, and for the broker, which alone sees credentials."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from django.conf import settings

from paca.agents.models import Agent
from paca.engine.tools.repositories import LinkedRepository
from paca.repositories import selectors
from paca.repositories.broker.routes import HOST, Route
from paca.repositories.broker.running import BrokerClient
from paca.repositories.credentials import header_for
from paca.repositories.models import Repository
from paca.repositories.models.addresses import is_below


def mirrors_folder(gates: Path) -> Path:
    """Where the mirrors of this machine are: in the data folder, as the network gates are."""
    return gates.parents[2] / "mirrors"


def broker_client(gates: Path) -> BrokerClient:
    """The broker beside the network gates in this folder."""
    return BrokerClient(
        gates,
        mirrors_folder(gates),
        mirrors_mib=settings.GIT_MIRRORS_MIB,
        mirrors_days=settings.GIT_MIRRORS_DAYS,
    )


def of_agent(agent_id: UUID, project_id: UUID) -> list[Repository]:
    """The repositories that an agent may use, by name. One query where a project has none."""
    if not Repository.objects.filter(project=project_id).exists():
        return []
    return list(selectors.for_agent(Agent(pk=agent_id, project_id=project_id)))


def clone_url(repository: Repository) -> str:
    """The address that clones show. It ends with .git, so that git does not take ``app-two`` for a part of ``app``."""
    return repository.url.rstrip("/").removesuffix(".git") + ".git"


def inside_url(repository: Repository) -> str:
    """The address at which sandboxes reach it."""
    return f"http://{HOST}/{repository.pk}/"


def addresses(repositories: Sequence[Repository]) -> tuple[tuple[str, str], ...]:
    """What ``SandboxSpec.repositories`` takes."""
    return tuple((clone_url(each), inside_url(each)) for each in repositories)


def linked(repository: Repository) -> LinkedRepository:
    """The repository as tools know it."""
    return LinkedRepository(
        str(repository.pk),
        repository.name,
        clone_url(repository),
        inside_url(repository),
        default_branch=repository.default_branch,
        allow_default_branch=repository.allow_default_branch,
        problem=repository.problem,
    )


def route_of(repository: Repository) -> Route:
    """The way for the broker, with the credential of now.

    It may ask the server for a token, so it is called outside transactions. Raises what ``header_for`` raises.
    """
    connection = repository.connection
    # guard: credential-for-its-server-only
    shows = connection is not None and is_below(repository.url, connection.base_url)
    named = f"{repository.url}\0{connection.pk if connection else ''}"
    return Route(
        repository.url,
        header=header_for(repository).header_value if shows else "",
        name=repository.name,
        mirror=hashlib.sha256(named.encode()).hexdigest()[:32],
        default_branch=repository.default_branch,
        allow_default_branch=repository.allow_default_branch,
        private=tuple(settings.PRIVATE_GIT_SERVERS),
        ca_file=settings.GIT_CA_FILE,
    )
