"""What a worker does with the broker: finds or starts its process, answers it, allows pushes."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import paca
from paca.common import clock
from paca.engine.workspace import SandboxUnavailable
from paca.repositories.broker import control, key, process
from paca.repositories.broker.routes import Grant, Route
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


class BrokerClient:
    """The broker of one installation on this machine. ``gates``: the folder of its network gates."""

    def __init__(
        self, gates: Path, mirrors: Path, *, mirrors_mib: int = 8192, mirrors_days: float = 14
    ) -> None:
        self.root = broker_folder(gates)
        self._arguments = (str(mirrors), str(mirrors_mib), str(mirrors_days))
        self._version = version()
        self._checked_version = False
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
        """Whether the process answers. One of another version is ended, once: an older worker may run beside this."""
        found = await self._ask({"do": "look"}, seconds=ASK_SECONDS)
        if found.get("version") == self._version or self._checked_version:
            return True
        self._checked_version = True
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

    async def refs(self, route: Route, *refs: str) -> dict[str, str]:
        """The commits of refs on the server, and under ``ref:HEAD`` the branch that HEAD is. Raises ``RefsUnknown``."""
        try:
            found = await self._ask(
                {"do": "refs", "route": route.to_fields(), "refs": list(refs)}, seconds=REFS_SECONDS
            )
        except (OSError, TimeoutError, ValueError):
            raise RefsUnknown("The broker of repositories does not answer. Try again.") from None
        if "refs" not in found:
            raise RefsUnknown(str(found.get("problem")))
        return {str(name): str(value) for name, value in found["refs"].items()}

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
                    *(str(Path(paca.__file__).parent.parent), str(self.root), self._version),
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
