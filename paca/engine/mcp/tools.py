"""The tools of MCP servers as tools of an agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict

from paca.common.text import to_storable, to_storable_json
from paca.engine.llm.base import ToolSpec
from paca.engine.mcp.connection import ServerConnection
from paca.engine.mcp.errors import (
    CallTimedOut,
    ConnectionLost,
    ServerRefused,
    ServerUnavailable,
    SessionExpired,
)
from paca.engine.mcp.results import ReadResult, read_result
from paca.engine.mcp.settings import PinnedTool, SignInNeeded
from paca.engine.tools.base import Effect, Tool, ToolArguments, ToolContext, ToolImage, ToolOutput
from paca.engine.tools.formatting import to_one_line

if TYPE_CHECKING:
    from paca.engine.mcp.sdk import SdkSession

UNKNOWN = "It may have had its effect, or may still have it: check before you repeat it."
CHANGED = (
    "{name} did not run: its server describes it otherwise than when people accepted it. A person has to look at it"
    " in the settings of the agent. Do without it."
)
SWITCHED_OFF = (
    "{name} did not run: people have switched it off since this turn began. Do without it."
)
SERVER_OFF = "{name} did not run: people have switched the MCP server {server} off. Do without it."
ASKS_NOW = (
    "{name} did not run: people approve its calls again, from now on. Call it again to ask them."
)
GONE = "{name} did not run: its server does not have it any more. Do without it."


class McpArguments(ToolArguments):
    """Any arguments: the server checks them against its own schema."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a server, and what a failure of it means. ``has_effect``: it may change something."""

    connection: ServerConnection
    name: str
    has_effect: bool


class McpTool(Tool[McpArguments]):
    """A tool that a server offers, with the description that people have accepted.

    Nothing that a server says makes it harmless: its calls are opaque, and need approval where unsafe calls do,
    unless a person has set it ``safe``.
    """

    effect = Effect.OPAQUE
    uses_workspace = False  # a server in the sandbox starts it itself
    takes_other_fields = True
    Arguments = McpArguments

    def __init__(self, name: str, pinned: PinnedTool, connection: ServerConnection) -> None:
        self.name = name
        self.pinned = pinned
        self.connection = connection
        self._is_safe_no_more = False

    def begin_step(self) -> None:
        """Let the calls of this step ask if people have taken back that the tool is safe.

        Within a step they do not: its other calls have been judged already.
        """
        if self._is_safe_no_more:
            self.pinned = replace(self.pinned, safe=False)

    @property
    def own_spec(self) -> ToolSpec:
        """The description that people have accepted."""
        offer = self.pinned.offer
        return ToolSpec(self.name, offer.description, dict(offer.schema))

    @property
    def safe(self) -> bool:
        # guard: mcp-tools-are-unsafe-until-a-person-says-otherwise
        return self.pinned.safe

    @property
    def asks_always(self) -> bool:
        # guard: mcp-destructive-tools-ask
        return self.pinned.offer.says_destructive and not self.pinned.safe

    @property
    def sends_out(self) -> bool:
        # guard: mcp-calls-beside-secrets-ask
        return self.connection.beside_secrets and not self.pinned.safe

    def subject(self, arguments: McpArguments) -> str:
        """The first text or number among the arguments."""
        values = arguments.model_dump().values()
        shown = (str(value) for value in values if isinstance(value, str | int | float))
        return to_one_line(to_storable(next(shown, "")))

    def time_limit_seconds(self, arguments: McpArguments, context: ToolContext) -> float:
        # A server that is lost is connected again within the same call, at most twice.
        settings = self.connection.settings
        return 2 * (settings.start_seconds + settings.call_seconds)

    async def act(self, arguments: McpArguments, context: ToolContext) -> ToolOutput:
        if refusal := await self._taken_back():
            return ToolOutput(refusal, failed=True, cause="refused")
        given = json.loads(to_storable_json(arguments.model_dump(mode="json")))
        request = Request(self.connection, self.name, has_effect=True)

        async def call(session: SdkSession) -> tuple[ReadResult, bool]:
            if refusal := self._refusal():
                raise ServerRefused(refusal)
            seconds = self.connection.settings.call_seconds
            return await session.call(
                self.pinned.offer.name, given, seconds=seconds, on_progress=context.on_output
            )

        return await answer(request, call)

    async def _taken_back(self) -> str:
        """Why the call must not run by what people have decided since the turn began; empty if it may."""
        decided = await self.connection.decided(self.pinned.offer.name)
        if decided is None:
            return SWITCHED_OFF.format(name=self.name)
        now = decided.get(self.pinned.offer.name)
        if now is None:
            return GONE.format(name=self.name)
        # guard: mcp-tools-that-are-switched-off-are-not-called
        if not _allows(now, self.pinned):
            return SWITCHED_OFF.format(name=self.name)
        # guard: mcp-tools-that-are-safe-no-more-ask
        if self.pinned.safe and not now.safe:
            self._is_safe_no_more = True
            return ASKS_NOW.format(name=self.name)
        return ""

    def _refusal(self) -> str:
        """Why the call must not be sent to the server as it is now; empty if it may."""
        offered = (self.connection.offered or {}).get(self.pinned.offer.name)
        # guard: mcp-changed-tools-are-not-called
        if offered == self.pinned.hash:
            return ""
        return (GONE if offered is None else CHANGED).format(name=self.name)


def _allows(now: PinnedTool, then: PinnedTool) -> bool:
    """Whether people still allow a tool. One whose description has changed is left to ``_refusal``, which asks the server."""
    return now.enabled and (now.accepted or now.hash != then.hash)


async def answer(request: Request, ask: Callable[[SdkSession], Any]) -> ToolOutput:
    """The output of a request to the server. Every failure of the server is an output that the model can read."""
    connection = request.connection
    try:
        result, failed = await _ask(connection, ask)
    except SignInNeeded as error:
        return _failed(request, f"did not run: {error.detail}", "refused")
    except ServerUnavailable as error:
        return _failed(
            request, f"did not run: {_server(connection)} is unavailable: {error.detail}."
        )
    except CallTimedOut as error:
        connection.doubt()
        return _failed(request, f"did not end: {error.detail}.", "timed_out", unknown=True)
    except ConnectionLost as error:
        why = await connection.drop(error.detail)
        return _failed(
            request, f"did not end: {_server(connection)} was lost: {why}.", unknown=True
        )
    except ServerRefused as error:
        text = connection.mask(error.detail)
        is_own = text.startswith(request.name)
        return ToolOutput(
            text if is_own else f"{request.name} failed: {text}", failed=True, cause="failed"
        )
    except TimeoutError:
        return _failed(request, f"did not run: {_server(connection)} gave no list of its tools.")
    images = tuple(ToolImage(image.kind, image.data) for image in result.images)
    return ToolOutput(
        connection.mask_result(result.text),
        failed=failed,
        cause="failed" if failed else "",
        truncated=result.truncated,
        images=images,
    )


async def _ask(connection: ServerConnection, ask: Callable[[SdkSession], Any]) -> Any:
    """Ask, and once more if the server has forgotten the session and so did nothing."""
    try:
        return await ask(await connection.session())
    except SessionExpired as error:
        await connection.drop(error.detail)
    try:
        return await ask(await connection.session())
    except SessionExpired as error:
        raise ServerRefused(error.detail) from None


def _failed(
    request: Request, text: str, cause: str = "failed", *, unknown: bool = False
) -> ToolOutput:
    # guard: mcp-lost-calls-tell-the-truth
    end = f" {UNKNOWN}" if unknown and request.has_effect else ""
    return ToolOutput(f"{request.name} {text}{end}", failed=True, cause=cause)


def _server(connection: ServerConnection) -> str:
    return f"the MCP server {connection.settings.name}"


# --- resources and prompts --------------------------------------------------------------------------


class _OnServers(Tool[Any]):
    """The base of the tools on all servers that offer resources or prompts."""

    # Also a read starts the program of a server in the sandbox, which read-only runs and plan mode do not.
    effect = Effect.OPAQUE
    uses_workspace = False
    name = ""

    def __init__(self, connections: Mapping[str, ServerConnection]) -> None:
        self._connections = connections

    def time_limit_seconds(self, arguments: Any, context: ToolContext) -> float:
        every = [each.settings for each in self._connections.values()]
        return 2 * max((each.start_seconds + each.call_seconds for each in every), default=0)

    def subject(self, arguments: Any) -> str:
        return to_one_line(to_storable(getattr(arguments, "uri", "") or arguments.server))

    async def _find(self, server: str) -> ServerConnection | ToolOutput:
        found = self._connections.get(server)
        # guard: mcp-servers-that-are-switched-off-are-not-read
        if found is not None and await found.decided() is None:
            text = SERVER_OFF.format(name=self.name, server=server)
            return ToolOutput(text, failed=True, cause="refused")
        if found is not None:
            return found
        known = ", ".join(self._connections)
        text = f"There is no MCP server {json.dumps(server)} here. The servers are: {known}."
        return ToolOutput(text, failed=True, cause="invalid")


class _ServerArguments(ToolArguments):
    server: str


class ListMcpResources(_OnServers):
    """List the resources and prompts of an MCP server."""

    name = "list_mcp_resources"
    safe = True

    class Arguments(_ServerArguments):
        pass

    async def act(self, arguments: Any, context: ToolContext) -> ToolOutput:
        connection = await self._find(arguments.server)
        if isinstance(connection, ToolOutput):
            return connection

        async def ask(session: SdkSession) -> tuple[ReadResult, bool]:
            lines = []
            if connection.resources:
                for uri, name, description in await session.list_resources():
                    lines.append(f"resource {uri} {to_one_line(f'{name} {description}')}".rstrip())
            if connection.prompts:
                for name, description, names in await session.list_prompts():
                    lines.append(
                        f"prompt {name}({', '.join(names)}) {to_one_line(description)}".rstrip()
                    )
            text = "\n".join(lines) or "(none)"
            return read_result([{"type": "text", "text": text}]), False

        return await answer(Request(connection, self.name, has_effect=False), ask)


class ReadMcpResource(_OnServers):
    """Read a resource that list_mcp_resources lists."""

    name = "read_mcp_resource"
    safe = True

    class Arguments(_ServerArguments):
        uri: str

    async def act(self, arguments: Any, context: ToolContext) -> ToolOutput:
        connection = await self._find(arguments.server)
        if isinstance(connection, ToolOutput):
            return connection

        async def ask(session: SdkSession) -> tuple[ReadResult, bool]:
            # Only what the server lists: an address that the model makes up could carry data away.
            # guard: mcp-reads-listed-resources-only
            if arguments.uri not in {uri for uri, _, _ in await session.list_resources()}:
                raise ServerRefused("the server lists no resource of this uri")
            return await session.read_resource(arguments.uri), False

        return await answer(Request(connection, self.name, has_effect=False), ask)


class ReadMcpPrompt(_OnServers):
    """Read a prompt that list_mcp_resources lists, with its arguments filled in."""

    name = "read_mcp_prompt"
    safe = False  # its arguments go to the server, which may do anything with them

    @property
    def sends_out(self) -> bool:
        return any(each.beside_secrets for each in self._connections.values())

    class Arguments(_ServerArguments):
        prompt: str
        arguments: dict[str, str] = {}

    async def act(self, arguments: Any, context: ToolContext) -> ToolOutput:
        connection = await self._find(arguments.server)
        if isinstance(connection, ToolOutput):
            return connection

        async def ask(session: SdkSession) -> tuple[ReadResult, bool]:
            return await session.read_prompt(arguments.prompt, dict(arguments.arguments)), False

        return await answer(Request(connection, self.name, has_effect=True), ask)


# What an agent with MCP servers has besides their tools.
SHARED_NAMES = frozenset(each.name for each in (ListMcpResources, ReadMcpResource, ReadMcpPrompt))
