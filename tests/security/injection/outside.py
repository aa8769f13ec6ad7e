"""All that lies outside of a conversation, in memory: a shell with a network gate, a git server, an MCP server.

Each writes into one ledger what has left, exactly as it left.
"""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import sync_to_async

from paca.common.network_policy import EgressPolicy
from paca.common.secret_removal import SecretMask
from paca.engine.approvals.person_tools import PersonRequested
from paca.engine.mcp.results import ReadResult
from paca.engine.mcp.settings import McpServerSettings, OfferedTool, PinnedTool
from paca.engine.mcp.tools import McpTool
from paca.engine.tools.pull_requests import OpenedPullRequest, WantedPullRequest
from paca.engine.tools.repositories import LinkedRepository, RemoteState
from paca.engine.workspace import Command, CommandOutcome
from paca.sandbox.egress.decision import Allowed, decide
from paca.sandbox.egress.request_head import Request
from paca.worker.pull_request_access import without_secrets
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace

HOST = re.compile(r"(?:https?://|nslookup )([^/\s:]+)")


@dataclass
class Ledger:
    """What has left, what was refused, and what people were asked."""

    left: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    asked: list[PersonRequested | Any] = field(default_factory=list)


class Shell(FakeSandboxWorkspace):
    """A shell that knows a few commands. Its network is that of the gate, which decides as the real one."""

    def __init__(self, ledger: Ledger, policy: EgressPolicy, secret: str) -> None:
        super().__init__({"notes.txt": f"The token is {secret}"})
        self.ledger, self.policy, self.secret = ledger, policy, secret
        self.pages: dict[str, str] = {}

    def _answer(self, command: Command) -> CommandOutcome:
        line = (command.shell or " ".join(command.argv or ())).replace("$TOKEN", self.secret)
        if line in self.pages:
            return CommandOutcome(0, self.pages[line], 0.0)
        if line.startswith("echo "):
            return CommandOutcome(0, self._echo(line), 0.0)
        sent = line.replace("@notes.txt", self.files["notes.txt"].decode())
        for host in HOST.findall(line):
            given = decide(Request("CONNECT", f"{host}:443"), self.policy)
            book = self.ledger.left if isinstance(given, Allowed) else self.ledger.refused
            book.append(("network", sent))
        return CommandOutcome(6, "refused", 0.0)

    def _echo(self, line: str) -> str:
        if "base64" in line:
            return base64.b64encode(self.secret.encode()).decode() + "\n"
        if "xxd" in line:
            return self.secret.encode().hex() + "\n"
        return (self.secret[::-1] if "rev" in line else self.secret) + "\n"


class GitHost:
    """The way to a git server that keeps what it is sent. The tools of agents for repositories use it.

    ``mask`` gives what a worker masks when it opens a pull request.
    """

    def __init__(self, ledger: Ledger, mask: Callable[[], SecretMask]) -> None:
        self.ledger, self.mask = ledger, mask

    async def find(self, name: str) -> LinkedRepository:
        return LinkedRepository(
            "1", name, "https://git.example/app.git", "http://inside/1/", "main"
        )

    async def remote_state(self, repository: LinkedRepository, branch: str) -> RemoteState:
        self.ledger.left.append(("git", f"asked for {branch}"))
        return RemoteState("", "main")

    @asynccontextmanager
    async def allow_push(
        self, repository: LinkedRepository, branch: str, **_: str
    ) -> AsyncIterator[None]:
        self.ledger.left.append(("git", f"pushed {branch}"))
        yield

    async def open_pull_request(self, wanted: WantedPullRequest) -> OpenedPullRequest:
        public = without_secrets(wanted, await sync_to_async(self.mask)())
        self.ledger.left.append(("git", f"opened {public}"))
        return OpenedPullRequest(
            "1", "app", wanted.branch, "main", 7, "https://git.example/7", wanted.title
        )


class Server:
    """A ``ServerConnection`` to a server that keeps what it is sent. ``says`` is what its tool ``fetch`` answers."""

    def __init__(self, ledger: Ledger, *, beside_secrets: bool, description: str = "") -> None:
        self.ledger, self.beside_secrets, self.says = ledger, beside_secrets, ""
        self.answer: ReadResult | None = None
        self.settings = McpServerSettings("web", "web", "http")
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        self.offers = {
            "send": OfferedTool("send", "Send a text.", schema, False, False),
            "fetch": OfferedTool("fetch", f"Fetch a page. {description}", schema, True, False),
        }
        self.offered = {name: offer.hash for name, offer in self.offers.items()}

    @property
    def pins(self) -> dict[str, PinnedTool]:
        # A person has said that ``fetch`` may run without approval.
        return {
            name: PinnedTool(offer.hash, True, name == "fetch", True, offer)
            for name, offer in self.offers.items()
        }

    def tools(self) -> list[McpTool]:
        return [
            McpTool(f"mcp__web__{name}", pinned, self)  # type: ignore[arg-type]
            for name, pinned in self.pins.items()
        ]

    async def decided(self, *_: str) -> dict[str, PinnedTool]:
        return self.pins

    async def session(self) -> Server:
        return self

    async def call(self, name: str, given: dict[str, Any], **_: Any) -> tuple[ReadResult, bool]:
        if name == "send":
            self.ledger.left.append(("MCP", str(given)))
        if name == "fetch":
            return self.answer or ReadResult(self.says), False
        return ReadResult("Sent."), False

    def mask(self, text: str) -> str:
        return text

    mask_result = mask
