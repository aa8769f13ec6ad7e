"""What the engine knows of an agent's MCP servers, and what it asks of the outside about them.

Nothing here imports the SDK, which takes seconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

from paca.common.errors import PacaError

Transport = Literal["stdio", "sse", "http"]
DEFAULT_START_SECONDS = 30.0
DEFAULT_CALL_SECONDS = 60.0


class ServerState(StrEnum):
    """How a server was found the last time that a worker used it."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    SIGN_IN_NEEDED = "sign_in_needed"


class SignInNeeded(PacaError):
    """A person has to sign in to this MCP server: its settings have a button for it."""

    code = "mcp_sign_in_needed"


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as its server describes it, checked and bounded. ``name`` is the server's own name of it.

    ``says_read_only`` and ``says_destructive`` are hints of the server, which it is not trusted with.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    says_read_only: bool = False
    says_destructive: bool = False

    @property
    def hash(self) -> str:
        """The sha256 of everything that the model and people read of the tool, in hexadecimal digits."""
        facts = [
            self.name,
            self.description,
            self.schema,
            self.says_read_only,
            self.says_destructive,
        ]
        text = json.dumps(facts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """The newest description of a tool that a worker has reported, and what people decided on it.

    ``accepted``: a person, or a policy that a person chose, has accepted the description with this ``hash``. A
    server that describes it otherwise makes it unaccepted again. ``safe``: a person says that every call may run
    without approval. ``enabled`` is false for a tool that is switched off. ``offer``: the description itself, so
    that a turn can offer the tool before the server is connected.
    """

    hash: str
    accepted: bool
    safe: bool
    enabled: bool
    offer: OfferedTool


@dataclass(frozen=True, slots=True)
class ServerOffer:
    """What a server offered when it was connected. ``resources`` and ``prompts``: whether it has any.

    ``left_out`` says in sentences what of it cannot be used; empty if there is nothing.
    """

    tools: Sequence[OfferedTool] = ()
    resources: bool = False
    prompts: bool = False
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class McpServerSettings:
    """An MCP server of the agent that is switched on. The ``env``, ``headers`` and the ``url`` may hold secrets.

    ``name`` is unique for the agent. ``command``, ``args`` and ``env`` are those of a server with the transport stdio,
    which runs in the sandbox; ``url`` and ``headers`` those of the others, which the worker connects to.
    ``start_seconds`` limits the connection with the list of tools, ``call_seconds`` one call. ``uses_oauth``: the
    worker asks for an access token. ``private_allowed``: the project lets it be in a private network.
    ``tools`` are by the server's own names. ``resources`` and ``prompts`` are as last reported.
    """

    id: str
    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    url: str = field(default="", repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    start_seconds: float = DEFAULT_START_SECONDS
    call_seconds: float = DEFAULT_CALL_SECONDS
    uses_oauth: bool = False
    private_allowed: bool = False
    tools: Mapping[str, PinnedTool] = field(default_factory=dict)
    resources: bool = False
    prompts: bool = False


class McpServers(Protocol):
    """The MCP servers of one agent, as the database has them."""

    async def settings(self) -> tuple[McpServerSettings, ...]:
        """The servers that are switched on, sorted by name. Read at the start of each turn."""
        ...

    async def access_token(self, server: McpServerSettings, refused: str = "") -> str:
        """The access token for a server with OAuth; a new one if the server has ``refused`` this one.

        Raises ``SignInNeeded`` if a person has to sign in first, or the server has another address now.
        """
        ...

    async def decided(
        self, server: McpServerSettings, names: Sequence[str]
    ) -> Mapping[str, PinnedTool] | None:
        """These of the server's tools as people have decided on them by now, in the middle of a turn.

        None if the server is switched off or deleted, or another one stands in its place.
        """
        ...

    async def report(
        self,
        server: McpServerSettings,
        state: ServerState,
        error: str = "",
        offer: ServerOffer | None = None,
    ) -> Mapping[str, PinnedTool]:
        """Store the health of the server that was found with these settings, and what it offers if that is known. ``error`` is one sentence for people.

        Tools that are new, or described otherwise than before, are stored as not accepted unless the settings
        accept them. Tools that are no longer offered are removed. Gives the tools as they are now; none if the server
        was deleted meanwhile, or is another one now: then nothing is stored.
        """
        ...


class NoMcpServers:
    """An agent without MCP servers."""

    async def settings(self) -> tuple[McpServerSettings, ...]:
        """None."""
        return ()

    async def access_token(self, server: McpServerSettings, refused: str = "") -> str:
        """Raise ``SignInNeeded``."""
        raise SignInNeeded

    async def decided(
        self, server: McpServerSettings, names: Sequence[str]
    ) -> Mapping[str, PinnedTool] | None:
        """None."""
        return None

    async def report(
        self,
        server: McpServerSettings,
        state: ServerState,
        error: str = "",
        offer: ServerOffer | None = None,
    ) -> Mapping[str, PinnedTool]:
        """Store nothing."""
        return {}
