"""The broker process of one machine: one socket for the network gate, and a private one for workers.

Workers start it when a conversation has repositories. It outlives them, because transfers do, and ends when no worker
has spoken with it for a while. A lock keeps a second one away.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from paca.repositories.broker import control, key, server_refs
from paca.repositories.broker.control import Control
from paca.repositories.broker.host_git import GitFailed
from paca.repositories.broker.mirrors import Mirrors
from paca.repositories.broker.routes import Route
from paca.repositories.broker.serving import Broker
from paca.repositories.broker.upstream import ServerProblem
from paca.sandbox.egress import request_head, unix_sockets

logger = logging.getLogger(__name__)
LOCK, CONTROL, SERVE = "lock", "control", "serve"
LOOK_SECONDS = 1.0
UNUSED_SECONDS = 600.0
REMOVE_SECONDS = 3600.0
OPEN_FILES = 65_536


class BrokerProcess:
    """Serves below ``root`` until it is not needed any more."""

    def __init__(self, root: Path, version: str, mirrors: Mirrors) -> None:
        self._root, self._version, self._mirrors = root, version, mirrors
        self._control = Control()
        self._broker = Broker(self._control.route, self._control.grants, mirrors)
        self._ending = asyncio.Event()
        self._asked_at = time.monotonic()
        self._connections = 0

    async def run(self) -> None:
        """Serve until no worker has been there for ``UNUSED_SECONDS`` and nothing is transferred, or one asks for the end."""
        serve = await unix_sockets.serve(
            unix_sockets.listen(self._root / SERVE),
            self._broker.serve,
            limit=request_head.MAX_HEAD_BYTES,
        )
        private = await unix_sockets.serve(
            unix_sockets.listen(self._root / CONTROL), self._serve_worker, limit=control.MAX_LINE
        )
        removing = asyncio.create_task(self._remove_mirrors())
        try:
            while not self._is_unused and self._root.is_dir():
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._ending.wait()
                        return
        finally:
            removing.cancel()
            for name, server in ((SERVE, serve), (CONTROL, private)):
                (self._root / name).unlink(missing_ok=True)
                server.close()

    @property
    def _is_unused(self) -> bool:
        if self._connections or self._broker.open:
            self._asked_at = time.monotonic()
        return time.monotonic() - self._asked_at > UNUSED_SECONDS

    async def _remove_mirrors(self) -> None:
        while True:
            try:
                for name in await self._mirrors.remove_unused():
                    logger.info("mirror removed", extra={"mirror": name})
                for name in await self._mirrors.prune():
                    logger.info("mirror pruned", extra={"mirror": name})
                await self._broker.pushes.proofs.remove_abandoned()
            except OSError:
                logger.exception("mirrors cannot be removed now")
            await asyncio.sleep(REMOVE_SECONDS)

    async def _serve_worker(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._connections += 1
        try:
            fields = await control.receive(reader)
            # guard: broker-obeys-workers-only
            if fields is not None and key.is_right(self._root, fields.get("key")):
                await self._do(fields, reader, writer)
        except (OSError, ValueError, LookupError, TypeError) as error:
            logger.info("connection of a worker ended", extra={"reason": repr(error)})
        finally:
            self._connections -= 1
            writer.close()

    async def _do(
        self, fields: dict[str, object], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        wanted = fields.get("do")
        if wanted == "end":
            self._ending.set()
        if wanted in ("look", "end"):
            await control.send(writer, {"version": self._version})
        elif wanted == "answer":
            await self._control.answerer(reader, writer)
        elif wanted == "grant":
            await self._control.grant(fields, reader, writer)
        elif wanted == "refs":
            await self._send_refs(fields, writer)

    async def _send_refs(self, fields: dict[str, object], writer: asyncio.StreamWriter) -> None:
        """Tell what the server has under a ref, with the credential of the route in the question."""
        try:
            route, ref = Route.from_fields(fields["route"]), str(fields["ref"])  # type: ignore[arg-type]
            refs = await server_refs.ask(route, self._mirrors.git, ref)
        except (GitFailed, ServerProblem, TimeoutError) as error:
            await control.send(writer, {"problem": str(error) or "The server does not answer."})
        else:
            found = {
                "commit": refs.commits.get(ref, ""),
                "head": refs.head,
                "symbolic": refs.symbolic.get(ref, ""),
            }
            await control.send(writer, {"found": found})


def main(arguments: list[str]) -> None:
    """Run the broker process. ``arguments``: its folder, the version of this code, the folder of the mirrors, what
    they may take in MiB, and after how many days without use one is removed."""
    root, version, mirrors = Path(arguments[0]), arguments[1], Path(arguments[2])
    if os.fork():  # the worker waits for this one, and is no parent of the other
        os._exit(0)
    os.setsid()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o077)
    os.chdir("/")
    _protect()
    logging.basicConfig(level=logging.INFO)
    lock = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # another worker was faster
        return
    limits = {
        "max_bytes": int(arguments[3]) << 20,
        "max_age_seconds": float(arguments[4]) * 86_400,
    }
    asyncio.run(_run(root, version, Mirrors(mirrors, **limits)))  # type: ignore[arg-type]


async def _run(root: Path, version: str, mirrors: Mirrors) -> None:
    await BrokerProcess(root, version, mirrors).run()


def _protect() -> None:
    """No dump of the memory, which has credentials; enough descriptors."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    main(sys.argv[1:])
