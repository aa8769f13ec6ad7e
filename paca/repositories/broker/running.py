"""What a worker does with the broker: finds or starts its process, answers it, allows pushes."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import paca
from paca.common import clock
from paca.engine.workspace import SandboxUnavailable
from paca.repositories.broker import control, key, process
from paca.repositories.broker.routes import Grant, Route
from paca.repositories.broker.server_refs import BRANCHES
from paca.sandbox.egress.gates import connect
from paca.sandbox.egress.gates import version as version_of_gates
from paca.sandbox.egress.repositories import broker_folder

START_SECONDS, ASK_SECONDS, REFS_SECONDS = 15.0, 5.0, 90.0
RETRY_SECONDS, START_AGAIN_SECONDS = 0.05, 3.0
# Isolated, so that nothing but this code is loaded, and without an environment, which holds the keys.
BOOT_CODE = (
    "import sys;sys.path.insert(0,sys.argv.pop(1));"
    "import paca.repositories.broker.process as p;p.main(sys.argv[1:])"
)
NOT_STARTED = "Repositories cannot be reached: their broker does not start. The file {} says why."
# Gives the route, or the refusal in words.
FindRoute = Callable[[UUID, UUID], Awaitable[Route | str]]


class RefsUnknown(Exception):
    """The server of a repository cannot be asked now; the text says why."""


@dataclass(frozen=True, slots=True)
class BranchOnServer:
    """The commit of a branch, the default branch, and the branch that this one is only another name of; each may be
    empty."""

    commit: str
    default_branch: str
    other_name_of: str


class BrokerClient:
    """The broker of one installation on this machine. ``gates``: the folder of its network gates."""

    def __init__(
        self, gates: Path, mirrors: Path, *, mirrors_mib: int = 8192, mirrors_days: float = 14
    ) -> None:
        self.root = broker_folder(gates)
        self._arguments = (str(mirrors), str(mirrors_mib), str(mirrors_days))
        self._version = version()
        self._created_ns = time.time_ns()
        self._starting = asyncio.Lock()

    async def ensure_process(self) -> None:
        """Find the process, or start it. Raises ``SandboxUnavailable``."""
        async with self._starting:
            give_up_at, start_at = clock.monotonic() + START_SECONDS, 0.0
            while True:
                with suppress(OSError, TimeoutError, ValueError):
                    if await self._find_process():
                        return
                now = clock.monotonic()
                if now > give_up_at:
                    raise SandboxUnavailable(NOT_STARTED.format(self.root / "log"))
                if now >= start_at:
                    await asyncio.to_thread(self._start)
                    start_at = now + START_AGAIN_SECONDS
                await asyncio.sleep(RETRY_SECONDS)

    async def _find_process(self) -> bool:
        """Whether the process answers. One of another version is ended, unless a later worker than this started it.

        Older workers run beside newer ones during an update, and the broker stays that of the newer.
        """
        answer = await self._ask({"do": "look"}, seconds=ASK_SECONDS)
        found, _, started_by = str(answer.get("version")).partition(".")
        is_later = started_by.isdigit() and int(started_by) > self._created_ns
        if found == self._version or is_later:
            return True
        await self._ask({"do": "end"}, seconds=ASK_SECONDS)
        return False

    async def answer(self, find_route: FindRoute) -> None:
        """Answer the questions of the process until it ends. Raises ``OSError`` if there is none."""
        async with (
            self._connected({"do": "answer"}) as (reader, writer),
            asyncio.TaskGroup() as group,
        ):
            while (question := await control.receive(reader)) is not None:
                group.create_task(_answer(question, find_route, writer))

    @asynccontextmanager
    async def grant(self, grant: Grant) -> AsyncIterator[None]:
        """Allow a push while the context lasts, and no longer than this process lives.

        Raises ``ConnectionResetError`` or another ``OSError`` if that is not possible.
        """
        fields = {
            "do": "grant",
            "conversation": str(grant.conversation_id),
            "repository": str(grant.repository_id),
            "ref": grant.ref,
            "old": grant.old,
            "new": grant.new,
        }
        async with self._connected(fields) as (reader, _):
            async with asyncio.timeout(ASK_SECONDS):
                if await control.receive(reader) != {"granted": True}:
                    raise ConnectionResetError
            yield

    async def ask_branch(self, route: Route, branch: str) -> BranchOnServer:
        """What the server of a repository has of a branch. Raises ``RefsUnknown``."""
        question = {"do": "refs", "route": route.to_fields(), "ref": f"{BRANCHES}{branch}"}
        try:
            answer = await self._ask(question, seconds=REFS_SECONDS)
        except (OSError, ValueError):
            raise RefsUnknown("The broker of repositories does not answer. Try again.") from None
        if "found" not in answer:
            raise RefsUnknown(str(answer.get("problem")))
        found = answer["found"]
        return BranchOnServer(
            str(found["commit"]),
            str(found["head"]).removeprefix(BRANCHES),
            str(found["symbolic"]).removeprefix(BRANCHES),
        )

    async def _ask(self, fields: Mapping[str, Any], *, seconds: float) -> dict[str, Any]:
        async with asyncio.timeout(seconds), self._connected(fields) as (reader, _):
            answer = await control.receive(reader)
        if answer is None:
            raise ConnectionResetError
        return answer

    @asynccontextmanager
    async def _connected(
        self, fields: Mapping[str, Any]
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await connect(self.root / process.CONTROL)
        try:
            await control.send(writer, {**fields, "key": key.read(self.root)})
            yield reader, writer
        finally:
            writer.close()

    def _start(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        key.create(self.root)
        with (self.root / "log").open("ab") as log:
            subprocess.run(  # noqa: S603 - the code above, with the Python of this process
                [
                    *(sys.executable, "-I", "-c", BOOT_CODE),
                    *(str(Path(paca.__file__).parent.parent), str(self.root)),
                    f"{self._version}.{self._created_ns}",
                    *self._arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": "/usr/bin:/bin", "LC_CTYPE": "C.UTF-8"},
                check=False,
            )


async def _answer(
    question: Mapping[str, Any], find_route: FindRoute, writer: asyncio.StreamWriter
) -> None:
    found = await find_route(UUID(question["conversation"]), UUID(question["repository"]))
    answer = {"refusal": found} if isinstance(found, str) else {"route": found.to_fields()}
    with suppress(ConnectionError):
        await control.send(writer, {"id": question["id"], **answer})


def version() -> str:
    """A digest of the code of the broker."""
    whole = hashlib.sha256(version_of_gates().encode())
    for source in sorted(Path(process.__file__).parent.glob("*.py")):
        whole.update(source.read_bytes())
    return whole.hexdigest()[:16]
