"""Reads of MCP servers: for lists and pages, and as the engine needs them for a run."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from paca.agents import encryption, mcp_secrets
from paca.agents.models import Agent, McpServer
from paca.agents.services import mcp_tools
from paca.agents.services.mcp_servers import is_another
from paca.common.errors import NotFound
from paca.engine.mcp.settings import McpServerSettings, PinnedTool, ServerState
from paca.projects.models import Project


def of_agent(agent: Agent) -> QuerySet[McpServer]:
    """The servers of an agent with their tools and sign-ins, in two queries."""
    return agent.mcp_servers.select_related("grant").prefetch_related("tools")


def get(
    project: Project, agent_id: UUID, server_id: UUID, *, for_update: bool = False
) -> McpServer:
    """A server of an agent of the project; ``for_update`` locks its row until the transaction ends.

    Raises ``NotFound`` if the agent has no such server, or the project no such agent.
    """
    # guard: mcp-server-of-the-project
    found = McpServer.objects.for_project(project).select_related("agent__project", "grant")
    if for_update:
        found = found.select_for_update(of=("self",), no_key=True)
    try:
        return found.prefetch_related("tools").get(agent=agent_id, pk=server_id)
    except McpServer.DoesNotExist:
        raise NotFound from None


def settings_of(agent_id: UUID) -> tuple[McpServerSettings, ...]:
    """The servers of an agent that are switched on, sorted by name, with their secrets.

    One whose secrets cannot be read is left out, and its health says so.
    """
    found = []
    rows = McpServer.objects.enabled().filter(agent=agent_id).select_related("agent__project")
    for server in rows.prefetch_related("tools").order_by("name"):
        try:
            found.append(as_settings(server))
        except encryption.SecretUnreadable as error:
            mcp_tools.report(agent_id, server.pk, state=ServerState.UNAVAILABLE, error=error.detail)
    return tuple(found)


def decided(
    agent_id: UUID, server: McpServerSettings, names: Sequence[str]
) -> dict[str, PinnedTool] | None:
    """These tools as people have decided on them by now.

    None if the server of the turn is switched off or deleted, or another program or host stands in its place.
    """
    present = McpServer.objects.enabled().filter(agent=agent_id, pk=server.id).first()
    if present is None or is_another(present, server):
        return None
    tools = present.tools.offered().filter(name__in=names) if names else ()
    return {tool.name: tool.pin for tool in tools}


def as_settings(server: McpServer) -> McpServerSettings:
    """One server as the engine has it. Raises ``SecretUnreadable``."""
    return McpServerSettings(
        id=str(server.pk),
        name=server.name,
        transport=server.transport,  # type: ignore[arg-type] # one of its choices
        command=server.command,
        args=tuple(server.args),
        url=server.url,
        env=mcp_secrets.open_values(server.encrypted_env),
        headers=mcp_secrets.open_values(server.encrypted_headers),
        start_seconds=float(server.start_seconds),
        call_seconds=float(server.call_seconds),
        uses_oauth=server.uses_oauth,
        private_allowed=server.is_private_allowed,
        tools={tool.name: tool.pin for tool in server.tools.all() if tool.offered},
        resources=server.has_resources,
        prompts=server.has_prompts,
    )
