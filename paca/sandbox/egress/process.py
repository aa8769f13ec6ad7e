"""The gate process of one machine: listens on a socket for each conversation that has a gate.

It opens no socket in a file itself: it forks an opener first, and shares the lock and its end with it. Workers start it when one is needed. It outlives them, because sandboxes and the transfers in them do, and ends when no
conversation has a gate for a while. A lock keeps a second one away; all it knows is in files, so the next one goes on.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from paca.sandbox.egress import (
    isolation,
    opener,
    request_head,
    seccomp_filter,
    splicing,
    unix_sockets,
)
from paca.sandbox.egress.booking import Booking
from paca.sandbox.egress.folders import GateFolder, list_folders
from paca.sandbox.egress.gate import Gate
from paca.sandbox.egress.opener import Opener
from paca.sandbox.egress.repositories import Repositories

logger = logging.getLogger(__name__)
LOCK, CONTROL = "lock", "control"
LOOK_SECONDS = 1.0
UNUSED_SECONDS = 60.0
ABANDONED_SECONDS = (
    3 * 3600.0
)  # without a word of a worker; a paused sandbox may be resumed until then
LOOK, END = b"look", b"end"
OPEN_FILES = 65_536
FOR_ALL_USERS = 0o111  # the user inside is another one; only its sandbox sees the socket
RESOLVER_THREADS = 128  # of all conversations


class GateProcess:
    """The gates of the conversations below ``root``. ``control`` listens for workers; ``channel`` leads to the opener."""

    def __init__(
        self, root: Path, version: str, *, control: socket.socket, channel: socket.socket
    ) -> None:
        self._root = root
        self._version = version
        self._control_listener = control
        self._opener = Opener(channel, self._end)
        self._gates: dict[UUID, tuple[Gate, asyncio.AbstractServer]] = {}
        self._ending = asyncio.Event()
        self._looking = asyncio.Lock()
        self._asked_at = time.monotonic()

    async def run(self) -> None:
        """Serve until no conversation has had a gate for ``UNUSED_SECONDS``, all workers are gone, one asks it to end,
        or the opener is gone."""
        await self._look()
        control = await unix_sockets.serve(self._control_listener, self._control)
        try:
            unused = 0.0
            while unused < UNUSED_SECONDS and not self._is_abandoned and self._root.is_dir():
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._ending.wait()
                        return
                await self._look()
                unused = 0.0 if self._gates else unused + LOOK_SECONDS
        finally:
            (self._root / CONTROL).unlink(missing_ok=True)
            control.close()

    def _end(self) -> None:
        self._ending.set()

    @property
    def _is_abandoned(self) -> bool:
        """Whether the workers are gone, and no transfer is left. Sandboxes end themselves then."""
        busy = any(not gate.is_idle for gate, _ in self._gates.values())
        return not busy and time.monotonic() - self._asked_at > ABANDONED_SECONDS

    async def _look(self) -> None:
        """Open the gates of new conversations, close those of removed ones, and enforce the policies of now."""
        async with self._looking:
            folders = {folder.conversation_id: folder for folder in list_folders(self._root)}
            for conversation_id in self._gates.keys() - folders.keys():
                gate, server = self._gates.pop(conversation_id)
                server.close()
                gate.enforce()
            for conversation_id, folder in folders.items():
                try:
                    await self._open(folder)
                except (OSError, ValueError) as error:  # the folder is being made or removed
                    fields = {"conversation": str(conversation_id), "reason": str(error)}
                    logger.info("gate cannot be opened now", extra=fields)
            for gate, _ in self._gates.values():
                gate.enforce()

    async def _open(self, folder: GateFolder) -> None:
        if folder.conversation_id in self._gates and folder.socket.exists():
            return
        if not folder.policy.exists():
            return
        if (replaced := self._gates.pop(folder.conversation_id, None)) is not None:
            replaced[1].close()
        broker = Repositories(self._opener.connect_to_broker, folder.conversation_id)
        booking = Booking(folder.booked, folder.earlier())
        gate = Gate(folder.read_policy, booking, broker=broker)
        listener = await self._opener.listen(folder.conversation_id)
        server = await unix_sockets.serve(listener, gate.serve, limit=request_head.MAX_HEAD_BYTES)
        self._gates[folder.conversation_id] = gate, server

    async def _control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a worker with this version, once every folder that is there now has its gate."""
        self._asked_at = time.monotonic()
        with suppress(OSError, ValueError):
            line = (await reader.readline()).strip()
            if line == END:
                self._end()
            else:
                await self._look()
            writer.write(f"{self._version}\n".encode("ascii"))
            await writer.drain()
        writer.close()


def main(arguments: list[str]) -> None:
    """Run the gate process. ``arguments``: the folder of the gates, and the version of this code."""
    root, version = Path(arguments[0]), arguments[1]
    if os.fork():  # the worker waits for this one, and is no parent of the other
        os._exit(0)
    os.setsid()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o077)
    os.chdir("/")
    _raise_file_limit()
    logging.basicConfig(level=logging.INFO)
    lock = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # another worker was faster
        return
    control = unix_sockets.listen(root / CONTROL)
    seccomp_filter.prepare()
    if not isolation.isolate(root):
        logger.warning("this kernel has no Landlock: the gate can read what its user can")
    asking, answering = opener.make_channel()
    if not os.fork():
        control.close()
        asking.close()
        os.umask(FOR_ALL_USERS)
        opener.serve(root, answering)
        return
    answering.close()
    _run(root, version, control, asking)


def _run(root: Path, version: str, control: socket.socket, channel: socket.socket) -> None:
    splicing.is_possible()  # tries it with a pair of sockets, of which the filter allows none
    with asyncio.Runner() as runner:
        runner.get_loop()  # has such a pair too
        # guard: egress-gate-opens-no-socket-in-a-file
        filtered = seccomp_filter.apply(channel.fileno())
        if not filtered:
            logger.warning(
                "no filter of system calls is possible: the gate can use all sockets that its user can"
            )
        runner.run(_serve(root, version, control, channel))


async def _serve(root: Path, version: str, control: socket.socket, channel: socket.socket) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(RESOLVER_THREADS))
    await GateProcess(root, version, control=control, channel=channel).run()


def _raise_file_limit() -> None:
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    main(sys.argv[1:])
