"""What a worker does with gates: opens one for a conversation, finds or starts the process, and removes them."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import paca
from paca.common import clock, host_names, network_policy
from paca.common.network_policy import CLOSED, EgressPolicy
from paca.engine.llm import address_check
from paca.engine.workspace import SandboxUnavailable
from paca.sandbox import seccomp
from paca.sandbox.egress import process, unix_sockets
from paca.sandbox.egress.booking import UNUSED, Used
from paca.sandbox.egress.folders import ROOT, GateFolder, list_folders
from paca.sandbox.runner import bpf, splice

START_SECONDS = 15.0
ASK_SECONDS = 5.0
RETRY_SECONDS, START_AGAIN_SECONDS = 0.05, 3.0
# Isolated, so that nothing but this code is loaded, and without an environment, which holds the keys.
BOOT_CODE = (
    "import sys;sys.path.insert(0,sys.argv.pop(1));"
    "import paca.sandbox.egress.process as p;p.main(sys.argv[1:])"
)
NOT_STARTED = (
    "The network of this sandbox cannot be opened: its gate does not start. The file {} says why. "
    "Without a network the agent works when its setting is network: none."
)


class Gates:
    """The gates of one installation on this machine. Another one may share the data folder."""

    def __init__(self, data_dir: Path, install_id: str) -> None:
        self.root = data_dir.resolve() / "run" / ROOT / install_id
        self._version = version()
        self._created_ns = time.time_ns()
        self._starting = asyncio.Lock()

    def folder(self, conversation_id: UUID) -> GateFolder:
        """The folder of a conversation's gate, which may not exist."""
        return GateFolder(self.root, conversation_id)

    async def open(
        self, conversation_id: UUID, policy: EgressPolicy, *, used: Used = UNUSED
    ) -> Path:
        """Open the gate of a conversation, or set the policy of the open one; gives the folder for its sandbox.

        ``used``: what the conversation has used of its budget, which a new gate goes on from.

        Raises ``SandboxUnavailable`` if the gate does not start: a sandbox that should have a network is not
        started with another one.
        """
        folder = self.folder(conversation_id)
        try:
            await asyncio.to_thread(_prepare, folder, policy, used)
        except OSError as error:
            raise SandboxUnavailable(
                f"The network of this sandbox cannot be opened: {error}."
            ) from error
        await self.ensure_process()
        return folder.inside

    async def close(self, conversation_id: UUID) -> None:
        """Cut all connections of a conversation. Its bookings stay until ``remove``."""
        folder = self.folder(conversation_id)
        if folder.path.is_dir():
            with suppress(OSError):
                await asyncio.to_thread(folder.write_policy, CLOSED)
            with suppress(OSError, TimeoutError):
                await self._ask(process.LOOK)

    def remove_all(self) -> None:
        """Remove all gates of this installation on this machine. Their process ends then."""
        for folder in self.list_open():
            folder.remove()

    def list_open(self) -> list[GateFolder]:
        """The folders of all gates of this machine."""
        return list(list_folders(self.root))

    async def ensure_process(self) -> None:
        """Find the process, or start it; commands in the background use it after the turn. Raises ``SandboxUnavailable``."""
        async with self._starting:
            give_up_at, start_at = clock.monotonic() + START_SECONDS, 0.0
            while True:
                with suppress(OSError, TimeoutError):
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

        Older workers run beside newer ones during an update, and the gate stays that of the newer.
        """
        found, _, started_by = (await self._ask(process.LOOK)).partition(".")
        is_later = started_by.isdigit() and int(started_by) > self._created_ns
        if found == self._version or is_later:
            return True
        await self._ask(process.END)
        return False

    async def _ask(self, line: bytes) -> str:
        """The version of the process and when its worker began. Raises ``OSError`` or ``TimeoutError`` if there is none."""
        async with asyncio.timeout(ASK_SECONDS):
            reader, writer = await connect(self.root / process.CONTROL)
            try:
                writer.write(line + b"\n")
                answer = (await reader.readline()).decode("ascii").strip()
            finally:
                writer.close()
        if not answer:
            raise ConnectionResetError
        return answer

    def _start(self) -> None:
        with (self.root / "log").open("ab") as log:
            subprocess.run(  # noqa: S603 - the code above, with the Python of this process
                [
                    *(sys.executable, "-I", "-c", BOOT_CODE),
                    *(str(Path(paca.__file__).parent.parent), str(self.root)),
                    f"{self._version}.{self._created_ns}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": "/usr/bin:/bin", "LC_CTYPE": "C.UTF-8"},
                check=False,
            )


async def connect(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to a socket at the path. Raises ``OSError``."""
    with unix_sockets.address_of(path) as address:
        return await asyncio.open_unix_connection(address)


def version() -> str:
    """A digest of the code of the gate."""
    whole = hashlib.sha256()
    others = (host_names, network_policy, address_check, splice, seccomp, bpf)
    rules = [Path(str(module.__file__)) for module in others]
    own = sorted(Path(process.__file__).parent.glob("*.py"))
    for source in [*own, *rules, seccomp.ALLOWED]:
        whole.update(source.read_bytes())
    return whole.hexdigest()[:16]


def _prepare(folder: GateFolder, policy: EgressPolicy, used: Used) -> None:
    folder.create(used)
    folder.write_policy(policy)
