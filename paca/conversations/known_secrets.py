"""The secret values that Paca knows, which no text that a run stores, shows or sends may hold.

Rooms with secrets of their own give them by ``secret_removal.add_source``.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from paca.agents import encryption, mcp_secrets
from paca.agents.models import Agent, McpServer, ModelKey
from paca.agents.services.rotation import SECRET_COLUMNS
from paca.common.secret_removal import SecretScope, from_sources, remember, secrets_of_header
from paca.engine.llm.credentials import secrets_of
from paca.projects.models import Member


def of_agent(agent_id: UUID, *, only_readable: bool = False) -> frozenset[str]:
    """The secrets of an agent, of those who lend it keys (its project, its members and the server), and of the
    installation.

    ``only_readable`` leaves out what cannot be decrypted: no run can use it. Else ``SecretUnreadable`` is raised:
    what it would be removed from is not stored then.
    """
    unreadable = (encryption.SecretUnreadable,) if only_readable else ()
    columns = [column for model, column in SECRET_COLUMNS if model is Agent]
    found = Agent.objects.filter(pk=agent_id).values_list("project_id", *columns).first()
    if found is None:
        return of_installation()
    project_id, *own = found
    people = Member.objects.filter(project=project_id, user__isnull=False).values("user")
    lent = ModelKey.objects.filter(
        Q(project=project_id) | Q(user__in=people) | Q(project=None, user=None)
    )
    stored = [*own, *lent.values_list("encrypted_key", flat=True)]
    keys = []
    for each in filter(None, stored):
        with suppress(*unreadable):
            keys.append(encryption.decrypt(each))
    # guard: rooms-give-their-secrets
    of_rooms = from_sources(SecretScope(project_id, agent_id))
    of_servers = _of_mcp_servers(agent_id, unreadable)
    remember(*of_rooms)  # the logs of this process show none of them
    return of_installation().union(*map(secrets_of, keys), of_servers, of_rooms)


def _of_mcp_servers(agent_id: UUID, unreadable: tuple[type[Exception], ...] = ()) -> frozenset[str]:
    """The secrets of the agent's MCP servers: values of env and headers, tokens, and secrets of clients."""
    found: set[str] = set()
    for server in McpServer.objects.filter(agent=agent_id).select_related("grant"):
        with suppress(*unreadable):
            found.update(mcp_secrets.plain_secrets(server))
    return frozenset(found - {""})


def of_project(project_id: UUID) -> frozenset[str]:
    """The secrets of all agents of a project, and those that ``of_agent`` gives with them.

    Raises ``SecretUnreadable`` if one cannot be decrypted.
    """
    agents = Agent.objects.filter(project=project_id).values_list("pk", flat=True)
    return of_installation().union(*map(of_agent, agents), from_sources(SecretScope(project_id)))


def of_installation() -> frozenset[str]:
    """The secrets of the installation, as its settings have them."""
    found = {
        settings.SECRET_KEY,
        *settings.ENCRYPTION_KEY,
        settings.METRICS_TOKEN,
        settings.PACA_ADMIN_PASSWORD,
        _of_database(settings.DATABASES["default"]),
        *_of_address(settings.REDIS_URL),
        *_of_address(settings.OTEL_EXPORTER_OTLP_ENDPOINT),
    }
    for value in settings.OTEL_EXPORTER_OTLP_HEADERS.values():
        found.update(secrets_of_header(value))
    remember(*found)
    return frozenset(found - {""})


def _of_database(address: Mapping[str, Any]) -> str:
    """The password of the database; empty if it is a word that stands in the address, such as postgres.

    To mask that would destroy all texts about databases, and hide nothing.
    """
    password = str(address.get("PASSWORD") or "")
    known = {str(address.get(each) or "") for each in ("USER", "NAME", "HOST")}
    # guard: name-of-the-database-is-no-secret
    if password in known | {"postgres"}:
        return ""
    return password


def _of_address(url: str) -> Iterator[str]:
    """The password in an address: as it is written there, and as it is."""
    password = urlsplit(url).password or ""
    yield password
    yield unquote(password)
