"""What the rig stands on: an installation on services of its own, its scripted model, its processes."""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self
from uuid import UUID, uuid4

from tests.chaos.nursery import Nursery, Process
from tests.installation.manage_process import clean_environment
from tests.support import postgres_server
from tests.support.postgres_server import PostgresServer
from tests.support.valkey_server import ValkeyServer

if TYPE_CHECKING:
    from paca.sandbox.base import Sandbox
    from paca.sandbox.manager import SandboxManager
    from tests.support.flow import ObservedConversation

SQLITE, SERVICES = "sqlite", "services"
GROUNDS = (SQLITE, SERVICES)
SECRETS = {
    "SECRET_KEY": secrets.token_urlsafe(48),
    "ENCRYPTION_KEY": "iF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM=",
    "PACA_ADMIN_PASSWORD": "a long password 7",
}


@dataclass
class Ground:
    """An installation: its name, its folder, what its processes find in their environment."""

    name: str
    folder: Path
    environment: dict[str, str]
    postgres: PostgresServer | None = None
    valkey: ValkeyServer | None = None
    _sandboxes: SandboxManager | None = None
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    @property
    def workers(self) -> int:
        """How many processes run conversations: a file is one process's own."""
        return 1 if self.name == SQLITE else 2

    def team(self, logs: Path, *, lease_seconds: float, **given: str) -> Team:
        return Team(self, logs, {"WORKER_LEASE_SECONDS": str(lease_seconds), **given})

    # --- sandboxes, from outside ------------------------------------------------------------------

    @property
    def sandboxes(self) -> SandboxManager:
        from paca.ops.sandbox_factory import new_manager

        self._sandboxes = self._sandboxes or new_manager()
        return self._sandboxes

    def read(self, told: ObservedConversation, path: str) -> str:
        """A file of the conversation's workspace, as it is inside its sandbox; empty if there is none."""
        from paca.engine.workspace import NoSuchFile

        async def content(sandbox: Sandbox) -> str:
            try:
                return (await sandbox.read(path)).decode()
            except NoSuchFile:
                return ""

        return self._inside(told, content)

    def run_inside(self, told: ObservedConversation, line: str) -> str:
        """What a shell says in the conversation's sandbox."""
        from paca.engine.workspace import Command

        async def output(sandbox: Sandbox) -> str:
            return (await sandbox.run(Command(f"look-{uuid4()}", shell=line))).output

        return self._inside(told, output)

    def _inside(self, told: ObservedConversation, act: Callable[[Sandbox], Awaitable[str]]) -> str:
        return self._runner.run(self._act(told.id, told.row.lease_epoch, act))

    async def _act(
        self, conversation_id: UUID, epoch: int, act: Callable[[Sandbox], Awaitable[str]]
    ) -> str:
        from paca.sandbox.base import SandboxSpec

        spec = SandboxSpec(conversation_id, backend_name=self.environment["PACA_SANDBOX"])
        sandbox = await self.sandboxes.open(spec, epoch=epoch)
        try:
            return await act(sandbox)
        finally:
            await sandbox.detach()

    def effects(self, told: ObservedConversation) -> Counter[str]:
        from tests.chaos.stories import EFFECTS

        return Counter(self.read(told, EFFECTS).split())

    def end_sandboxes(self, *keep: UUID) -> None:
        """As if their machine had gone: what ran there is gone, the files stay."""
        self._runner.run(self.sandboxes.sweep(set(keep)))

    def forget_all(self) -> None:
        """What else there is: of conversations that were not judged, or in which something was wrong."""
        for conversations in self.sandboxes.list_workspaces().values():
            for conversation_id in conversations:
                self._runner.run(self.sandboxes.delete(conversation_id))

    def forget(self, told: ObservedConversation) -> None:
        """Remove the sandbox with its files."""
        self._runner.run(self.sandboxes.delete(told.id))


class Team:
    """The processes of one part: ``with ground.team(logs, lease_seconds=3) as team``."""

    def __init__(self, ground: Ground, logs: Path, given: dict[str, str]) -> None:
        self._ground = ground
        self._nursery = Nursery(logs, ground.environment | given)
        self.port = self.web_pid = 0  # of the web server, where it is a process of its own

    def __enter__(self) -> Self:
        self._nursery.__enter__()
        if self._ground.name == SERVICES:
            web = self.start("up", "--no-worker")
            self.port, self.web_pid = web.wait_until_ready(), web.pid
        return self

    def __exit__(self, *_: object) -> None:
        self._nursery.__exit__()

    def start(self, *arguments: str, **variables: str) -> Process:
        return self._nursery.start(*arguments, **variables)

    @property
    def dead(self) -> list[str]:
        """The logs of those that have ended by themselves."""
        return self._nursery.dead

    @property
    def largest_mib(self) -> float:
        """What the largest of them has in memory."""
        return self._nursery.largest_mib

    @property
    def complaints(self) -> list[str]:
        """What any of them has logged as an error."""
        return self._nursery.complaints

    def worker(self, **variables: str) -> Process:
        """What runs conversations: all of Paca on a file, else one worker of several. It is begun only."""
        return self.start("up" if self._ground.name == SQLITE else "run_worker", **variables)


@contextmanager
def prepared(name: str, *, sandbox: str) -> Iterator[Ground]:
    """The installation with its tables, and this process's Django set up on it."""
    with ExitStack() as open_, tempfile.TemporaryDirectory(prefix="paca-chaos-") as folder:
        environment = {
            **clean_environment(),
            **SECRETS,
            "DJANGO_SETTINGS_MODULE": "paca.settings",
            "PACA_DATA_DIR": f"{folder}/data",
            "PACA_PORT": "0",
            "PACA_SANDBOX": sandbox,
            "API_REQUESTS_PER_MINUTE": "100000",
            "LLM_MAX_RETRIES": "5",
            "WORKER_CONCURRENCY": "10" if name == SQLITE else "5",
        }
        ground = Ground(name, Path(folder), environment)
        if sandbox == "docker":
            environment["DOCKER_HOST"] = ""
        if name == SERVICES:
            ground.postgres = open_.enter_context(postgres_server.running())
            ground.valkey = open_.enter_context(ValkeyServer(Path(folder) / "valkey"))
            environment["DATABASE_URL"] = ground.postgres.url
            environment["REDIS_URL"] = ground.valkey.url
        os.environ.clear()
        os.environ.update(environment)
        import django
        from django.core.management import call_command

        django.setup()
        Path(folder, "data").mkdir()
        call_command("migrate", verbosity=0)
        try:
            yield ground
        finally:
            ground.forget_all()
