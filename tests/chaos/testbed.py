"""An installation for chaos tests, on services of its own, and the processes of a part."""

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

from tests.chaos.fork_server import ForkServer, Process
from tests.installation.manage_process import clean_environment
from tests.support import migrated_database, postgres_server
from tests.support.postgres_server import PostgresServer
from tests.support.valkey_server import ValkeyServer

if TYPE_CHECKING:
    from paca.sandbox.base import Sandbox
    from paca.sandbox.manager import SandboxManager
    from tests.support.flow import ObservedConversation

SQLITE, SERVICES = "sqlite", "services"
TESTBEDS = (SQLITE, SERVICES)
SECRETS = {
    "SECRET_KEY": secrets.token_urlsafe(48),
    "ENCRYPTION_KEY": "iF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM=",
    "PACA_ADMIN_PASSWORD": "a long password 7",
}


@dataclass
class Testbed:
    """An installation on one set-up: its folder, the environment of its processes, its services."""

    name: str
    folder: Path
    environment: dict[str, str]
    postgres: PostgresServer | None = None
    valkey: ValkeyServer | None = None
    _sandboxes: SandboxManager | None = None
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    @property
    def workers(self) -> int:
        """How many processes run conversations. SQLite allows one."""
        return 1 if self.name == SQLITE else 2

    def processes(self, logs: Path, *, lease_seconds: float, **given: str) -> Processes:
        return Processes(self, logs, {"WORKER_LEASE_SECONDS": str(lease_seconds), **given})

    # --- sandboxes, from outside ------------------------------------------------------------------

    @property
    def sandboxes(self) -> SandboxManager:
        from paca.ops.sandbox_factory import new_manager

        self._sandboxes = self._sandboxes or new_manager()
        return self._sandboxes

    def read(self, observed: ObservedConversation, path: str) -> str:
        """Content of a file in the sandbox of the conversation; empty if there is no such file."""
        from paca.engine.workspace import NoSuchFile

        async def content(sandbox: Sandbox) -> str:
            try:
                return (await sandbox.read(path)).decode()
            except NoSuchFile:
                return ""

        return self._inside(observed, content)

    def run_inside(self, observed: ObservedConversation, line: str) -> str:
        """Output of a shell command in the sandbox of the conversation."""
        from paca.engine.workspace import Command

        async def output(sandbox: Sandbox) -> str:
            return (await sandbox.run(Command(f"look-{uuid4()}", shell=line))).output

        return self._inside(observed, output)

    def _inside(
        self, observed: ObservedConversation, act: Callable[[Sandbox], Awaitable[str]]
    ) -> str:
        return self._runner.run(self._act(observed.id, observed.row.lease_epoch, act))

    async def _act(
        self, conversation_id: UUID, epoch: int, act: Callable[[Sandbox], Awaitable[str]]
    ) -> str:
        from paca.sandbox.base import SandboxSpec

        spec = SandboxSpec(conversation_id, files_backend=self.environment["PACA_SANDBOX"])
        sandbox = await self.sandboxes.open(spec, epoch=epoch)
        try:
            return await act(sandbox)
        finally:
            await sandbox.detach()

    def effects(self, observed: ObservedConversation) -> Counter[str]:
        from tests.chaos.scripts import EFFECTS

        return Counter(self.read(observed, EFFECTS).split())

    def end_sandboxes(self, *keep: UUID) -> None:
        """End all sandboxes but those of ``keep``, as a restart of their machine would; files stay."""
        self._runner.run(self.sandboxes.sweep(set(keep)))

    def delete_all_sandboxes(self) -> None:
        """Delete what is left of conversations that were not judged or had a fault."""
        for conversations in self.sandboxes.list_workspaces().values():
            for conversation_id in conversations:
                self._runner.run(self.sandboxes.remove(conversation_id))

    def delete_sandbox(self, observed: ObservedConversation) -> None:
        """Delete the sandbox of the conversation with its files."""
        self._runner.run(self.sandboxes.remove(observed.id))


class Processes:
    """The processes of one part: ``with testbed.processes(logs, lease_seconds=3) as processes``."""

    def __init__(self, testbed: Testbed, logs: Path, given: dict[str, str]) -> None:
        self._testbed = testbed
        self._fork_server = ForkServer(logs, testbed.environment | given)
        self.port = self.web_pid = 0  # of the web server, if it is a process of its own

    def __enter__(self) -> Self:
        self._fork_server.__enter__()
        if self._testbed.name == SERVICES:
            web = self.start("up", "--no-worker")
            self.port, self.web_pid = web.wait_until_ready(), web.pid
        return self

    def __exit__(self, *_: object) -> None:
        self._fork_server.__exit__()

    def start(self, *arguments: str, **variables: str) -> Process:
        return self._fork_server.start(*arguments, **variables)

    @property
    def dead(self) -> list[str]:
        """The logs of the processes that have ended by themselves."""
        return self._fork_server.dead

    @property
    def largest_mib(self) -> float:
        """Resident memory of the largest process."""
        return self._fork_server.largest_mib

    @property
    def logged_errors(self) -> list[str]:
        """Lines that a process has logged as errors."""
        return self._fork_server.logged_errors

    def worker(self, **variables: str) -> Process:
        """Start a process that runs conversations: ``up`` on SQLite, else a worker. Does not wait for it."""
        return self.start("up" if self._testbed.name == SQLITE else "run_worker", **variables)


@contextmanager
def open_testbed(name: str, *, sandbox: str) -> Iterator[Testbed]:
    """An installation with migrated tables, on which Django of this process is set up too."""
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
            "TITLE_MODEL": "off",
            "WORKER_CONCURRENCY": "10" if name == SQLITE else "5",
        }
        testbed = Testbed(name, Path(folder), environment)
        if sandbox == "docker":
            environment["DOCKER_HOST"] = ""
        if name == SERVICES:
            testbed.postgres = open_.enter_context(postgres_server.running())
            testbed.valkey = open_.enter_context(ValkeyServer(Path(folder) / "valkey"))
            environment["DATABASE_URL"] = testbed.postgres.url
            environment["REDIS_URL"] = testbed.valkey.url
        os.environ.clear()
        os.environ.update(environment)
        import django
        from django.core.management import call_command

        django.setup()
        Path(folder, "data").mkdir()
        if name == SQLITE:
            migrated_database.copy_to(Path(folder, "data", "paca.sqlite3"))
        call_command("migrate", verbosity=0)
        try:
            yield testbed
        finally:
            testbed.delete_all_sandboxes()
