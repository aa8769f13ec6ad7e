"""All MCP servers of one run: connected side by side, each with its own tools and its own troubles."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from paca import events
from paca.common import clock
from paca.engine.mcp.connection import OpenWorkspace, ServerConnection
from paca.engine.mcp.names import tool_names
from paca.engine.mcp.settings import McpServers, McpServerSettings, NoMcpServers, PinnedTool
from paca.engine.mcp.tools import ListMcpResources, McpTool, ReadMcpPrompt, ReadMcpResource
from paca.engine.tools.base import AnyTool
from paca.engine.workspace import SandboxUnavailable, SandboxWorkspace

# How long the first step of a turn waits for servers whose tools are not known yet. Later ones enter when they answer.
WAIT_SECONDS = 5.0
MAX_TOOLS = 80  # of all servers together: providers take 128 with those of Paca


MAX_WAIT_SECONDS, LOOK_SECONDS = 60.0, 0.25


@dataclass(frozen=True, slots=True)
class ServerNews:
    """What has happened since the last step: events for the log, and whether there are tools that the turn lacks."""

    events: tuple[events.Event, ...] = ()
    more_tools: bool = False


class ServerGroup:
    """The servers of an agent for as long as a run lasts. ``begin_turn`` comes before everything else.

    Within a turn tools are only added, at the border of a step: a request begins with the same bytes as the one before,
    but for the step at which a server has brought new ones.
    """

    def __init__(self, servers: McpServers, workspace: OpenWorkspace) -> None:
        self._servers = servers
        self._workspace = workspace
        self._connections: dict[str, ServerConnection] = {}
        self._shown: dict[str, AnyTool] = {}
        self._told: dict[str, str] = {}
        self._is_first_step = True

    async def begin_turn(
        self, settings: Sequence[McpServerSettings], *, beside_secrets: bool = False
    ) -> None:
        """Take the servers of the turn. Connections whose settings have not changed go on.

        ``beside_secrets``: the agent's commands have secrets, which a text could ask it to send to a server.
        """
        kept: dict[str, ServerConnection] = {}
        ended = dict(self._connections)
        for each in settings:
            known = ended.get(each.id)
            if known is not None and _without_tools(known.settings) == _without_tools(each):
                known.pins = each.tools or known.pins
                kept[each.id] = ended.pop(each.id)
            else:
                kept[each.id] = ServerConnection(each, self._servers, self._workspace)
        for connection in kept.values():
            is_outside = connection.settings.transport != "stdio"
            connection.beside_secrets = beside_secrets and is_outside
        self._connections = kept
        self._shown = {tool.name: tool for tool in _tools(self._connections.values())}
        self._is_first_step = True
        await _close_all(ended.values())

    @property
    def is_empty(self) -> bool:
        """Whether the agent has no servers."""
        return not self._connections

    def tools(self) -> tuple[AnyTool, ...]:
        """The tools of this turn so far."""
        return tuple(self._shown.values())

    async def before_step(self) -> ServerNews:
        """Connect what is due, and tell what is new. Only the first step of a turn waits, for ``WAIT_SECONDS`` at most."""
        for tool in self._shown.values():
            if isinstance(tool, McpTool):
                tool.begin_step()
        for each in self._due():
            _ = each.begin()
        if self._is_first_step:
            await self._wait_for_unknown()
        self._is_first_step = False
        return ServerNews(tuple(self._tell()), self._take_more_tools())

    async def _wait_for_unknown(self) -> None:
        """Wait for servers whose tools are not known yet. The start of the sandbox does not count, up to a limit."""
        end = clock.monotonic() + MAX_WAIT_SECONDS
        while waiting := [
            each
            for each in self._connections.values()
            if each.is_opening and not each.pins and _left(each, end) > 0
        ]:
            left = min(*(_left(each, end) for each in waiting), LOOK_SECONDS)
            await asyncio.wait([each.begin() for each in waiting], timeout=left)

    def _due(self) -> Iterator[ServerConnection]:
        """Servers to connect now. One in the sandbox waits for its first call if its tools are known."""
        for each in self._connections.values():
            is_lazy = each.settings.transport == "stdio" and bool(each.pins)
            if each.is_due and not is_lazy:
                yield each

    def _tell(self) -> Iterator[events.Event]:
        """One event when a server has become unavailable, and one when it is there again."""
        for each in self._connections.values():
            before = self._told.get(each.settings.id, "")
            if each.error and not each.is_open and each.error != before:
                self._told[each.settings.id] = each.error
                yield events.McpUnavailable(server=each.settings.name, error=each.error)
            elif before and each.is_open:
                del self._told[each.settings.id]
                yield events.McpAvailable(server=each.settings.name)

    def _take_more_tools(self) -> bool:
        """Add the tools that the turn does not have yet; True if there are any."""
        more = [tool for tool in _tools(self._connections.values()) if tool.name not in self._shown]
        # guard: mcp-tools-are-only-added
        self._shown |= {tool.name: tool for tool in more}
        return bool(more)

    async def close(self) -> None:
        """End all connections, and the servers in the sandbox."""
        await _close_all(self._connections.values())
        self._connections = {}


def _left(connection: ServerConnection, end: float) -> float:
    """The seconds for which the first step still waits for this server."""
    now, since = clock.monotonic(), connection.connecting_since
    left = end - now if since is None else since + WAIT_SECONDS - now
    # guard: mcp-slow-servers-hold-nothing-up
    return min(left, end - now)


def known_tools(settings: Sequence[McpServerSettings]) -> tuple[AnyTool, ...]:
    """The tools with which a turn begins, to describe only."""
    return tuple(
        _tools([ServerConnection(each, NoMcpServers(), _no_workspace) for each in settings])
    )


async def _no_workspace() -> SandboxWorkspace:
    raise SandboxUnavailable


def _tools(connections: Iterable[ServerConnection]) -> list[AnyTool]:
    found: dict[str, AnyTool] = {}
    every = list(connections)
    for connection in every:
        for tool in _tools_of(connection):
            if len(found) < MAX_TOOLS:
                found.setdefault(tool.name, tool)
    return [*found.values(), *_shared_tools(every)]


def _shared_tools(every: Sequence[ServerConnection]) -> Iterator[AnyTool]:
    """The tools for resources and prompts, if a server offers any."""
    offering = {each.settings.name: each for each in every if each.resources or each.prompts}
    if offering:
        yield ListMcpResources(offering)
    if any(each.resources for each in every):
        yield ReadMcpResource(offering)
    if any(each.prompts for each in every):
        yield ReadMcpPrompt(offering)


def _tools_of(connection: ServerConnection) -> Iterator[McpTool]:
    pins = _offered_pins(connection.pins)
    names = tool_names(connection.settings.name, connection.pins)
    for own_name, pinned in sorted(pins.items()):
        yield McpTool(names[own_name], pinned, connection)


def _offered_pins(pins: Mapping[str, PinnedTool]) -> dict[str, PinnedTool]:
    """The tools that an agent may have: accepted as they are described, and switched on."""
    # guard: mcp-unaccepted-tools-are-not-offered
    return {name: each for name, each in pins.items() if each.accepted and each.enabled}


def _without_tools(settings: McpServerSettings) -> McpServerSettings:
    return replace(settings, tools={}, resources=False, prompts=False)


async def _close_all(connections: Iterable[ServerConnection]) -> None:
    await asyncio.gather(*(each.close() for each in connections))
